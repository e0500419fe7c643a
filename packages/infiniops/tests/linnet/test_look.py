"""A look sees that weights of a model were replaced or moved, and takes no notice of writes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from infini.linnet import InfiniOps


def look(*tensors: torch.Tensor) -> Any:
    return InfiniOps().look([], list(tensors))


def test_a_look_holds_while_nothing_changes() -> None:
    tensors = [torch.ones(3, 3), torch.ones(()), torch.ones(0, 4), nn.Parameter(torch.ones(2))]
    seen = look(*tensors)
    assert seen.holds()
    tensors[0].add_(1)
    tensors[0].requires_grad_(True)
    assert seen.holds()
    assert look().holds()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda t: t.clone(), id="memory"),
        pytest.param(lambda t: t.t(), id="strides"),
        pytest.param(lambda t: t.view(-1), id="rank"),
        pytest.param(lambda t: t[:3], id="shape"),
        pytest.param(lambda t: t[1:], id="offset"),
        pytest.param(lambda t: t.view(torch.int32), id="dtype"),
    ],
)
def test_a_tensor_that_lies_otherwise_is_seen(
    change: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    tensor, other = torch.ones(4, 4), torch.ones(5)
    seen = look(other, tensor, other)
    before = tensor.data
    tensor.data = change(tensor.data)
    assert not seen.holds()
    tensor.data = before
    assert seen.holds()


def test_another_object_under_a_name_is_seen() -> None:
    module = nn.Linear(2, 2)
    places = [(module._parameters, "weight", module.weight)]
    seen = InfiniOps().look(places, [module.weight])
    assert seen is not None
    assert seen.holds()
    before = module.weight
    module.weight = nn.Parameter(before.detach())  # the same memory
    assert not seen.holds()
    module.weight = before
    assert seen.holds()
    del module.weight
    assert not seen.holds()


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(torch.ones(2, device="meta"), id="meta"),
        pytest.param(torch.ones(2, 2).to_sparse(), id="sparse"),
        pytest.param(np.ones(2), id="numpy"),
        pytest.param(None, id="none"),
    ],
)
def test_what_has_no_plain_memory_is_declined(tensor: Any) -> None:
    assert look(torch.ones(2), tensor) is None


def test_a_look_does_not_keep_a_model_alive_that_holds_it() -> None:
    module = nn.Linear(2, 2)
    seen = InfiniOps().look([(module._parameters, "weight", module.weight)], [module.weight])
    module._parameters["look"] = seen  # type: ignore[assignment]  # any object closes the circle
    gone = weakref.ref(module.weight)
    del module, seen
    gc.collect()
    assert gone() is None
