"""Indexing, copies to places along a dimension, and both extremes at once, as on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    with pytest.raises(IndexError, match=f"{place} "):
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


INDICES: dict[str, Callable[[Tensor], object]] = {
    "places": lambda x: torch.tensor([2, 0, 2]),
    "places from the end": lambda x: torch.tensor([-1, 1]),
    "places of 32 bits": lambda x: torch.tensor([1, 0], dtype=torch.int32),
    "a table of places": lambda x: torch.tensor([[0, 1], [2, -2], [1, 1]]),
    "no places": lambda x: torch.tensor([], dtype=torch.int64),
    "behind a slice": lambda x: (slice(None), torch.tensor([3, 0])),
    "behind two": lambda x: (slice(None), slice(1, 3), torch.tensor([[1], [0]])),
    "a mask": lambda x: x > 0,
    "a mask of rows": lambda x: x[:, 0, 0] > 0,
    "a mask of planes": lambda x: x[:, :, 0] > 0,
    "a mask behind a slice": lambda x: (slice(None), x[0, :, 0] > 0),
    "a mask of bytes": lambda x: (x[:, 0, 0] > 0).to(torch.uint8),
    "nothing marked": lambda x: x > 100,
    "two lists": lambda x: (torch.tensor([0, 2]), torch.tensor([1, -1])),
    "two lists apart": lambda x: (torch.tensor([0, 2]), slice(None), torch.tensor([1, -1])),
    "a list and a mask": lambda x: (torch.tensor([0, 2]), x[0, :, 0].abs() > 9),
}


def moved(index: object) -> object:
    """An index with its tensors on infini."""
    if isinstance(index, tuple):
        return tuple(moved(item) for item in index)
    return index.to("infini") if isinstance(index, Tensor) else index


def arrangements(x: Tensor) -> dict[str, Tensor]:
    return {"plain": x, "transposed": x.permute(2, 0, 1).contiguous().permute(1, 2, 0)}


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_indexed_elements_are_those_of_the_cpu(kind: str, dtype: torch.dtype) -> None:
    drawn = torch.randn(3, 4, 5)
    index: Any = INDICES[kind](drawn)
    x = drawn.mul(9).to(dtype)
    for there in arrangements(x).values():
        try:
            expected = x[index]
        except IndexError:
            with pytest.raises(IndexError):
                there.to("infini")[moved(index)]
            continue
        found = there.to("infini")[moved(index)]
        assert found.device.type == "infini"
        assert torch.equal(found.cpu(), expected)
        assert torch.equal(there.to("infini")[index].cpu(), expected)  # the index on the CPU


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("value", ["a number", "one for each", "a row"])
def test_assigned_elements_are_those_of_the_cpu(kind: str, value: str) -> None:
    x = torch.randn(3, 4, 5)
    index: Any = INDICES[kind](x)
    try:
        shape = x[index].shape
    except IndexError:
        pytest.skip("the CPU refuses it")
    given: Any = {
        "a number": 7.5,
        "one for each": torch.randn(shape[-1:]).expand(shape),  # alike where places repeat
        "a row": torch.randn(shape[-1:]),
    }[value]
    if kind == "places" and value == "one for each":
        given = torch.randn(1, *shape[1:]).expand(shape)
    for there in arrangements(x).values():
        here, target = x.clone(), there.to("infini")
        try:
            here[index] = given
        except RuntimeError:
            pytest.skip("the CPU refuses it")
        target[moved(index)] = given.to("infini") if isinstance(given, Tensor) else given
        assert torch.equal(target.cpu(), here)


@pytest.mark.parametrize("place", [3, -4])
def test_indices_outside_are_refused_as_on_the_cpu(place: int) -> None:
    x, index = torch.randn(3, 4), torch.tensor([place, 0])
    there, moved_index = x.to("infini"), index.to("infini")

    def take() -> None:
        there[moved_index]
        torch.infini.synchronize()  # a device that works on its own tells it here

    def put() -> None:
        there[moved_index] = 0.0

    def put_on_cpu() -> None:
        x.clone()[index] = 0.0

    for on_cpu, on_infini in ((lambda: x[index], take), (put_on_cpu, put)):
        with pytest.raises(IndexError):
            on_cpu()
        with pytest.raises(IndexError):
            on_infini()
    assert torch.equal(there.cpu(), x)
    for wrong in (torch.tensor([0.5]), torch.ones(4, dtype=torch.bool)):
        with pytest.raises(IndexError) as expected:
            x[wrong]
        with pytest.raises(IndexError) as found:
            there[wrong.to("infini")]
        assert str(found.value).split()[:4] == str(expected.value).split()[:4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_repeated_places_add_up(dtype: torch.dtype) -> None:
    x, new = torch.randn(3, 4).mul(5).to(dtype), torch.randn(5, 4).mul(5).to(dtype)
    places = torch.tensor([2, 0, 2, 2, 0])
    for function in (
        lambda x, i, s: x.index_add(0, i, s),
        lambda x, i, s: x.t().index_add(1, i, s.t()),
        lambda x, i, s: x.index_put((i,), s, accumulate=True),
        lambda x, i, s: x.scatter_add(0, i.unsqueeze(1).expand(5, 4), s),
        lambda x, i, s: x.scatter_add(1, (i % 4).expand(2, 5), s.t()[:2]),
    ):
        here = function(x, places, new)
        there = function(*(tensor.to("infini") for tensor in (x, places, new)))
        torch.testing.assert_close(there.cpu(), here)


def test_infinities_stay_at_their_places() -> None:
    new = torch.tensor([[1.0, 2.0], [float("inf"), 3.0], [4.0, float("nan")], [5.0, 6.0]])
    places = torch.tensor([0, 1, 1, 0])
    for function in (
        lambda i, s: s.new_zeros(3, 2).index_add(0, i, s),
        lambda i, s: s.new_zeros(3, 2).scatter_add(0, i.unsqueeze(1).expand(4, 2), s),
        lambda i, s: torch.ops.aten.embedding_dense_backward(s, i, 3, -1, False),
    ):
        expected = function(places, new)
        found = function(places.to("infini"), new.to("infini"))
        torch.testing.assert_close(found.cpu(), expected, equal_nan=True)


def test_numbers_outside_are_refused_before_anything_is_added() -> None:
    x = torch.zeros(3, 2, device="infini")
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x.scatter_add_(0, torch.tensor([[3, 0]], device="infini"), x.new_ones(1, 2))
    assert x.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (-1,), ()], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_flipped_dimensions(dims: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 4).mul(3).to(dtype)
    found = x.to("infini").flip(dims)
    assert torch.equal(found.cpu(), x.flip(dims))
    assert found.data_ptr() != x.data_ptr()
