"""Gradients of ops with a `grad` clause are the clause's, wherever the op is called."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from linnet.torch import LinnetModule, load

#: The clauses give other gradients than the bodies have, so that it shows which were used.
SOURCE = """module m

op gate<N: Dim>(x: Tensor[N; f32], mode: i32, w: Tensor[N; f32], k: f32) -> Tensor[N; f32] {
    return x * w * k
} grad(y, dy) {
    return (dy * w * 100.0, y + dy * x * k)
}

op step<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return select(x > 0.0, 1.0, 0.0)
} grad(y, dy) {
    return dy * 0.5
}

op outer<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return step(x) + x
} grad(y, dy) {
    return dy * 7.0
}

op same<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return x
} grad(y, dy) {
    return dy * 3.0
}

pub block Model<N: Dim> {
    param w: Tensor[N; f32]

    pub entry gated(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return gate(x, 1, w, 2.0) + 1.0
    }

    pub entry stepped(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return step(x * w) * x
    }

    pub entry nested(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return outer(x * w)
    }

    pub entry unchanged(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return same(w) * x
    }

    pub entry twice(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return step(w) * x + step(w)
    }

    pub entry looped(x: Tensor[N; f32]) -> Tensor[N; f32] {
        var y = w
        for i in 0..3 {
            y = step(y) + y * x
        }
        return y
    }
}
"""


def model(**options: Any) -> LinnetModule:
    return load(SOURCE, generics={"N": 5}, weights={"w": torch.randn(5)}, **options)


def expected(entry: str, w: Tensor, x: Tensor, dy: Tensor) -> Tensor:
    """The gradient of `w` for a gradient `dy` of the result."""
    if entry == "gated":
        return x * w * 2 + dy * x * 2
    if entry == "stepped":
        return 0.5 * dy * x * x
    if entry == "nested":
        return 7 * dy * x
    if entry == "unchanged":
        return 3 * dy * x
    if entry == "twice":
        return 0.5 * dy * x + 0.5 * dy
    for _ in range(3):
        dy = dy * 0.5 + dy * x
    return dy


@pytest.mark.parametrize("mode", [False, None], ids=["interpreted", "generated"])
@pytest.mark.parametrize("entry", ["gated", "stepped", "nested", "unchanged", "twice", "looped"])
def test_the_clause_gives_the_gradient(entry: str, mode: Any) -> None:
    found, x, dy = model(trainable=True), torch.randn(5), torch.randn(5)
    y = found.run_entry(entry, [x], compile=mode)
    y.backward(dy)
    w = found.tensor("w")
    assert w.grad is not None
    torch.testing.assert_close(w.grad, expected(entry, w.detach(), x, dy))
    # The values are those of the bodies.
    plain = load(SOURCE, generics={"N": 5}, weights={"w": w.detach()})
    torch.testing.assert_close(y.detach(), plain.run_entry(entry, [x]))


def test_source_that_is_not_trained_has_no_backward() -> None:
    x = torch.randn(5)
    assert "with_gradient" not in model().generated_source("gated", [x])
    text = model(trainable=True).generated_source("gated", [x])
    assert text.count("operations.with_gradient(") == 1


def test_inputs_take_gradients_from_the_clause_too() -> None:
    found = model(trainable=True)
    x = torch.randn(5, requires_grad=True)
    found.gated(x).sum().backward()
    torch.testing.assert_close(x.grad, 100 * found.tensor("w").detach())
