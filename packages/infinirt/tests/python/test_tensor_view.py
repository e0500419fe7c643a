"""Views are sound or refused."""

from __future__ import annotations

import pytest

import infini.rt as rt


def test_properties() -> None:
    view = rt.TensorView(4096, [2, 3], dtype="bfloat16", device=rt.Device("sim:1"))
    assert (view.shape, view.strides, view.numel, view.nbytes) == ([2, 3], [3, 1], 6, 12)
    assert view.is_contiguous
    assert repr(view) == "bfloat16[2, 3] on sim:1"
    assert view == rt.TensorView(4096, [2, 3], [3, 1], "bfloat16", rt.Device("sim:1"))
    assert hash(view) == hash(rt.TensorView(4096, [2, 3], [3, 1], "bfloat16", rt.Device("sim:1")))
    assert view != rt.TensorView(4096, [3, 2], dtype="bfloat16", device=rt.Device("sim:1"))


@pytest.mark.parametrize("rank", [0, 7, 8, 9, 64])
def test_any_rank(rank: int) -> None:
    view = rt.TensorView(64, [1] * rank, list(range(rank)))
    assert view.shape == [1] * rank
    assert view.strides == list(range(rank))
    assert view.is_contiguous


def test_overlap() -> None:
    view = rt.TensorView(4096, [8])
    assert view.may_overlap(rt.TensorView(4096 + 28, [1]))
    assert not view.may_overlap(rt.TensorView(4096 + 32, [1]))
    assert rt.TensorView(4096, [2, 3], [0, 1]).may_overlap_itself
    assert rt.TensorView(4096, [2, 3], [1, 2]).is_non_overlapping_and_dense


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, [1]), ValueError, "data is null but shape \\[1\\] has elements"),
        ((64, [-1]), ValueError, "size -1 of dimension 0"),
        ((64, [2**40, 2**40]), ValueError, "more than 2\\^63 - 1 bytes"),
        ((64, [2, 2], [1]), ValueError, "2 dimensions but strides \\[1\\] have 1"),
        ((64, [1], None, "float"), TypeError, 'unknown data type "float"'),
        ((-1, [1]), ValueError, "address -1"),
        ((64, [2**63]), ValueError, "size 9223372036854775808 is not a number from"),
        ((2**64 - 4, [100]), ValueError, "end of the address space"),
    ],
)
def test_refusals(arguments: tuple[object, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        rt.TensorView(*arguments)  # type: ignore[arg-type]  # wrong types are part of the test


def test_empty_views_with_huge_strides_are_fine() -> None:
    assert rt.TensorView(0, [2**40, 2**40, 0], [2**40] * 3).numel == 0
