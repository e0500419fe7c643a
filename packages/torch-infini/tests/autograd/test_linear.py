"""Gradients of linear, whose kernel takes the place of PyTorch's composition."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

SHAPES = [(5,), (3, 5), (2, 3, 5), (0, 5)]


def operands(shape: tuple[int, ...], bias: bool, device: str) -> list[torch.Tensor]:
    torch.manual_seed(1)
    made = [torch.randn(shape, dtype=torch.float32), torch.randn(4, 5, dtype=torch.float32)]
    if bias:
        made.append(torch.randn(4, dtype=torch.float32))
    return [x.to(device).requires_grad_() for x in made]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_operands_are_those_of_the_cpu(shape: tuple[int, ...]) -> None:
    found = []
    for device in ("infini", "cpu"):
        x, w = operands(shape, bias=False, device=device)
        y = functional.linear(x, w)
        y.backward(torch.ones(y.shape, dtype=y.dtype).to(device))
        found.append([x.grad.cpu(), w.grad.cpu()])
    torch.testing.assert_close(found[0], found[1])


def test_only_what_is_asked_for_is_computed() -> None:
    x, w = operands((3, 5), bias=False, device="infini")
    x.requires_grad_(False)
    functional.linear(x, w).backward(torch.ones(3, 4, dtype=torch.float32).to("infini"))
    assert x.grad is None
    assert w.grad is not None


def test_nothing_is_recorded_without_need() -> None:
    x, w = operands((3, 5), bias=False, device="infini")
    with torch.no_grad():
        assert functional.linear(x, w).grad_fn is None
    assert functional.linear(x.detach(), w.detach()).grad_fn is None
    with torch.inference_mode():
        assert functional.linear(x, w).is_inference()


def test_gradients_are_differentiable() -> None:
    x, w = operands((3, 5), bias=False, device="infini")
    ones = torch.ones(3, 4, dtype=torch.float32).to("infini").requires_grad_()
    (gx,) = torch.autograd.grad(functional.linear(x, w), x, ones, create_graph=True)
    (gw,) = torch.autograd.grad(gx, w, torch.ones(3, 5, dtype=torch.float32).to("infini"))
    expected = torch.ones(3, 4, dtype=torch.float32).t() @ torch.ones(3, 5, dtype=torch.float32)
    torch.testing.assert_close(gw.cpu(), expected)
