"""Operators that move elements: bounds, order, conversions, layouts."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.bool, torch.uint8, torch.int16, torch.float32, torch.bfloat16, torch.complex128]
INT64_MAX = 2**63 - 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_embedding_takes_rows(dtype: Any, index_dtype: Any) -> None:
    weight = torch.randn(50, 33).mul(10).to(dtype)
    index = torch.randint(0, 50, (4, 7)).to(index_dtype)
    for table in (weight, weight.t().contiguous().t(), weight[::2, ::3]):
        ids = index % table.shape[0]
        assert torch.equal(infini.ops.embedding(ids, table), table[ids.long()])
    assert infini.ops.embedding(index[:0], weight).shape == (0, 7, 33)
    assert torch.equal(infini.ops.embedding(index[0, 0], weight), weight[index[0, 0]])


@pytest.mark.parametrize(
    ("index_dtype", "bad"),
    [
        *((torch.int32, bad) for bad in (-1, 50, 2**31 - 1, -(2**31))),
        *((torch.int64, bad) for bad in (-1, 50, 2**32, INT64_MAX, -(2**63))),
    ],
)
def test_positions_outside_are_errors_and_write_nothing(index_dtype: Any, bad: int) -> None:
    weight = torch.randn(50, 3)
    index = torch.tensor([1, 2, bad], dtype=index_dtype)
    place = rf"`\w+` is {bad} at element 2; expected 0 to 49"
    out = torch.full((3, 3), 5.0)
    with pytest.raises(ValueError, match=place):
        infini.ops.embedding(index, weight, out=out)
    with pytest.raises(ValueError, match=place):
        infini.ops.index_select(weight, 0, index, out=out)
    with pytest.raises(ValueError, match=place):
        infini.ops.gather(weight, 0, index.reshape(3, 1), out=out[:, :1])
    large = torch.full((50, 3), 5.0)
    with pytest.raises(ValueError, match=place):
        infini.ops.scatter(weight, 0, index.reshape(3, 1), torch.ones(3, 1), out=large)
    assert (out == 5).all()
    assert (large == 5).all()


@pytest.mark.parametrize("index_dtype", [torch.uint8, torch.int16, torch.uint64, torch.float32])
def test_numbers_of_places_are_int32_or_int64(index_dtype: Any) -> None:
    x, index = torch.ones(5, 3), torch.zeros(2).to(index_dtype)
    column = index.reshape(2, 1)
    for call in (
        lambda: infini.ops.embedding(index, x),
        lambda: infini.ops.index_select(x, 0, index),
        lambda: infini.ops.gather(x, 0, column),
        lambda: infini.ops.scatter(x, 0, column, torch.ones(2, 1)),
    ):
        with pytest.raises(TypeError, match="expected one of int32, int64"):
            call()


def test_a_dimension_without_places_is_named() -> None:
    index, out = torch.zeros(3, 2, dtype=torch.int64), torch.ones(3, 2)
    message = (
        "on cpu:0: `index` has 6 numbers of places, but `input` of shape [0, 2] has no place along "
        "dimension 0"
    )
    with pytest.raises(ValueError) as error:
        infini.ops.gather(torch.ones(0, 2), 0, index, out=out)
    assert str(error.value) == f"gather {message}"
    assert (out == 1).all()
    with pytest.raises(ValueError) as error:
        infini.ops.scatter(torch.ones(0, 2), 0, index, out)
    assert str(error.value) == f"scatter {message}"
    assert infini.ops.gather(torch.ones(0, 2), 0, index[:0]).shape == (0, 2)
    assert infini.ops.scatter(torch.ones(0, 2), 0, index[:0], out).shape == (0, 2)


def test_an_empty_table_has_no_rows() -> None:
    with pytest.raises(ValueError, match="expected 0 to -1"):
        infini.ops.embedding(torch.tensor([0]), torch.ones(0, 4))
    assert infini.ops.embedding(torch.tensor([0, 1]), torch.ones(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_the_last_of_several_writes_stays(index_dtype: Any, by_threads: Any) -> None:
    index = torch.zeros(40_000, 3, dtype=index_dtype)
    src = torch.arange(120_000.0).reshape(40_000, 3)
    wanted = [src[-1].tolist(), [0, 0, 0]]

    def rows() -> Any:
        return infini.ops.scatter(torch.zeros(2, 3), 0, index, src).tolist()

    def columns() -> Any:
        return infini.ops.scatter(torch.zeros(3, 2), 1, index.t(), src.t()).t().tolist()

    for function in (rows, columns):
        for _ in range(13):  # of four numbers of threads each
            assert by_threads(function) == [wanted] * 4


def test_scatter_and_gather_check_shapes() -> None:
    x, index = torch.ones(3, 4), torch.zeros(4, 4, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"`index` has shape \[4, 4\]; expected the rank"):
        infini.ops.gather(x, 1, index)
    with pytest.raises(ValueError, match=r"sizes up to its own"):
        infini.ops.scatter(x, 0, index, torch.ones(3, 4))
    with pytest.raises(ValueError, match="rank of"):
        infini.ops.gather(x, 0, torch.zeros(2, dtype=torch.int64))


def test_scatter_into_its_input() -> None:
    x = torch.zeros(4, 5)
    index = torch.randint(0, 4, (1, 5))
    expected = torch.scatter(x, 0, index, torch.ones(1, 5))
    assert infini.ops.scatter(x, 0, index, torch.ones(1, 5), out=x) is x
    assert torch.equal(x, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 7), (64, 64), (100, 33, 3), (2, 65, 70), (1, 5, 1, 9)])
def test_copies_between_any_layouts(dtype: Any, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape).mul(10).to(dtype)
    for view in (x, x.transpose(0, -1), x.flip(0), x[..., ::2], x[:1].expand(3, *shape[1:])):
        assert torch.equal(infini.ops.copy(view), view)
        target = torch.zeros(view.shape[::-1], dtype=dtype).permute(*range(view.ndim)[::-1])
        infini.ops.copy(view, out=target)
        assert torch.equal(target, view)


def test_cat_checks_its_tensors() -> None:
    a = torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"`tensors\[1\]` has shape|`tensors`\[1\] has shape"):
        infini.ops.cat([a, torch.ones(2, 4)], 0)
    with pytest.raises(TypeError, match=r"`tensors\[1\]` has dtype int64"):
        infini.ops.cat([a, torch.ones(2, 3, dtype=torch.int64)])
    with pytest.raises(ValueError, match="is an empty list"):
        infini.ops.cat([])
    with pytest.raises(TypeError, match="must be a list or tuple of tensors"):
        infini.ops.cat(a)
    with pytest.raises(ValueError, match="scalars"):
        infini.ops.cat([torch.tensor(1.0)])
    whole = torch.ones(4, 3)
    with pytest.raises(ValueError, match=r"`out` and `tensors\[1\]` share memory"):
        infini.ops.cat([a, whole[1:3]], out=whole)
    assert infini.ops.cat((a, a), 1).shape == (2, 6)


@pytest.mark.parametrize("length", [1, 64])
@pytest.mark.parametrize("source", [torch.float32, torch.float64])
def test_floats_become_integers_by_one_rule(length: int, source: Any) -> None:
    """Towards zero; NaN is 0; the nearest 64-bit integer, of which the low bits remain."""
    cases: list[tuple[float, Any, int]] = [
        (math.nan, torch.int32, 0),
        (math.inf, torch.int64, INT64_MAX),
        (-math.inf, torch.int64, -(2**63)),
        (-1.0, torch.uint8, 255),
        (256.0, torch.uint8, 0),
        (3e9, torch.int64, 3_000_000_000),
        (3e9, torch.int32, 3_000_000_000 - 2**32),
        (-1.9, torch.int8, -1),
        (1.9, torch.uint64, 1),
        (2.0**63, torch.uint64, 2**63),
        (math.inf, torch.uint64, 2**64 - 1),
    ]
    for value, target, expected in cases:
        x = torch.full((length,), value, dtype=source)
        result = infini.ops.cast(x, target)
        assert result.dtype == target
        assert result.tolist() == [expected] * length, (value, target)
    nan = torch.full((length,), math.nan, dtype=source)
    assert infini.ops.cast(nan, torch.bool).all()


def test_cast_takes_dtypes_of_every_kind() -> None:
    import numpy as np

    x = torch.ones(3)
    for dtype in ("float64", torch.float64, np.float64, np.dtype("float64")):
        assert infini.ops.cast(x, dtype).dtype == torch.float64
    with pytest.raises(TypeError, match="must be a dtype"):
        infini.ops.cast(x, "float65")
    with pytest.raises(TypeError, match="`dtype` is complex64; expected one of"):
        infini.ops.cast(x, "complex64")


def test_unsigned_integers_keep_their_values() -> None:
    x = torch.tensor([2**64 - 1, 2**63, 0], dtype=torch.uint64)
    assert infini.ops.cast(x, torch.float64).tolist() == [2.0**64, 2.0**63, 0]
    assert infini.ops.cast(x, torch.int32).tolist() == [-1, 0, 0]


def test_fill_needs_a_number_of_the_dtypes_kind() -> None:
    assert infini.ops.fill(torch.ones(2, dtype=torch.int8), 300).tolist() == [44, 44]
    assert infini.ops.fill(torch.ones(2, dtype=torch.bfloat16), 0.1)[0] == torch.tensor(
        0.1, dtype=torch.bfloat16
    )
    assert infini.ops.fill(torch.ones(2, dtype=torch.complex64), 1 + 2j).tolist() == [1 + 2j] * 2
    with pytest.raises(TypeError, match="`value` must be an integer"):
        infini.ops.fill(torch.ones(2, dtype=torch.int8), 0.5)


@pytest.mark.slow
def test_positions_past_two_to_the_31_bytes() -> None:
    """A row stride that 32 bits cannot hold once it is multiplied by the index."""
    weight = torch.zeros(16_384, 131_072, dtype=torch.int16)
    weight[16_383] = 7
    index = torch.tensor([16_383], dtype=torch.int32)
    assert (infini.ops.embedding(index, weight) == 7).all()
