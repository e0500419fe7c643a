"""Copies to places along a dimension, and both extremes at once, as on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from torch_infini import _native

pytestmark = pytest.mark.skipif(
    not {"aten::scatter.src_out", "aten::amin.out"} <= set(_native.registered_overloads()),
    reason="the InfiniOps of this build has no scatter or amin",
)

Function = Callable[..., "Tensor | tuple[Tensor, ...]"]


def agree(function: Function, *operands: Tensor) -> None:
    """Compares the results and what became of the operands, bit for bit, with the CPU."""
    here = [operand.clone() for operand in operands]
    there = [operand.to("infini") for operand in operands]
    expected, found = function(*here), function(*there)
    pairs = zip(
        [*(expected if isinstance(expected, tuple) else (expected,)), *here],
        [*(found if isinstance(found, tuple) else (found,)), *there],
        strict=True,
    )
    for on_cpu, on_infini in pairs:
        assert on_infini.device.type == "infini"
        assert on_infini.stride() == on_cpu.stride()
        assert torch.equal(on_infini.cpu(), on_cpu)


@pytest.mark.parametrize("dim", [2, -2])
def test_slices_go_to_their_places(dim: int) -> None:
    cache, new = torch.randn(2, 3, 10, 4), torch.randn(2, 3, 2, 4)
    places = torch.tensor([7, 1])
    agree(lambda x, i, s: x.index_copy(dim, i, s), cache, places, new)
    agree(lambda x, i, s: x.index_copy_(dim, i, s), cache, places, new)


def test_copy_to_places_writes_into_a_given_result() -> None:
    x, places, new = torch.randn(4, 5), torch.tensor([3, 0]), torch.randn(4, 2)
    agree(
        lambda x, i, s: torch.index_copy(x, 1, i, s, out=torch.empty(0, device=x.device)),
        *(x, places, new),
    )
    wrong = torch.empty(4, 5, dtype=torch.int32, device="infini")
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float"):
        torch.index_copy(x.to("infini"), 1, places.to("infini"), new.to("infini"), out=wrong)


@pytest.mark.parametrize(
    ("shape", "places", "new"),
    [((), 0, ()), ((3,), [2], ()), ((3, 4), [], (0, 4)), ((0, 4), [], (0, 4))],
)
def test_small_operands_copy_to_their_places(
    shape: tuple[int, ...], places: list[int] | int, new: tuple[int, ...]
) -> None:
    index = torch.tensor(places, dtype=torch.int64)
    agree(lambda x, i, s: x.index_copy_(0, i, s), torch.randn(shape), index, torch.randn(new))


def test_copy_to_places_of_a_view_leaves_the_rest_alone() -> None:
    def write(base: Tensor, index: Tensor, new: Tensor) -> Tensor:
        return base[1:, ::2].t().index_copy_(0, index, new.expand(2, 3))

    agree(write, torch.randn(4, 7), torch.tensor([2, 0]), torch.randn(2, 1))


@pytest.mark.parametrize("place", [-1, 3])
def test_places_outside_are_refused_and_nothing_is_written(place: int) -> None:
    x = torch.zeros(3, 4, device="infini")
    places, new = torch.tensor([0, place], device="infini"), x.new_ones(2, 4)

    def write() -> None:
        x.index_copy_(0, places, new)
        torch.infini.synchronize()  # a device that works on its own tells it here

    with pytest.raises(RuntimeError, match=f"is {place} at element"):
        write()
    assert torch.equal(x.cpu(), torch.zeros(3, 4))


def test_operands_elsewhere_are_refused_by_name() -> None:
    x = torch.zeros(3, 4, device="infini")
    with pytest.raises(RuntimeError, match=r"\(self\) infini:0, \(index\) cpu"):
        x.index_copy_(0, torch.tensor([1]), x.new_ones(1, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("dim", [None, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_both_extremes_are_those_of_the_cpu(
    dtype: torch.dtype, dim: int | None, keepdim: bool
) -> None:
    x = torch.randn(3, 5, 2).mul(4).to(dtype)
    agree(lambda x: tuple(torch.aminmax(x, dim=dim, keepdim=keepdim)), x)


def test_extremes_of_nothing_are_refused_as_on_cpu() -> None:
    for device in ("cpu", "infini"):
        with pytest.raises(RuntimeError, match="no identity"):
            torch.aminmax(torch.empty(0, device=device))
