"""Reductions: empty inputs, ties, NaN, many dimensions, results that stay the same."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from sweep import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    load_sweeps,
    report,
)

import infini.ops  # noqa: E402  # after the skip above

NAN, INF = math.nan, math.inf


def test_reductions_of_nothing() -> None:
    empty = torch.ones(1, 0)
    assert infini.ops.sum(empty, dim=1).tolist() == [0]
    assert infini.ops.mean(empty, dim=1).isnan().all()
    assert infini.ops.logsumexp(empty, dim=1).tolist() == [-INF]
    assert infini.ops.sum(empty, dim=0).shape == (0,)
    for name in ("amax", "amin", "argmax", "argmin", "max", "min"):
        with pytest.raises(ValueError, match="there is no element to choose along dimension 1"):
            getattr(infini.ops, name)(empty, dim=1)
    assert infini.ops.argmax(torch.ones(0, 3), dim=1).shape == (0,)
    assert infini.ops.amax(torch.ones(0, 3), dim=1).shape == (0,)


def test_scalars_have_one_dimension() -> None:
    x = torch.tensor(3.0)
    for dim in (None, -1, 0):
        assert infini.ops.sum(x, dim=dim).item() == 3
        assert infini.ops.argmax(x, dim=dim).item() == 0
        assert infini.ops.softmax(x, dim if dim is not None else 0).item() == 1
    with pytest.raises(ValueError, match="`dim` must be a dimension of `input`"):
        infini.ops.sum(x, dim=1)


@pytest.mark.parametrize("length", [*range(1, 68), 1031, 100_003])
def test_the_first_of_equal_elements_counts(length: int) -> None:
    x = torch.zeros(length)
    assert infini.ops.argmax(x).item() == 0
    assert infini.ops.argmin(x).item() == 0
    x[length // 2 :] = 1
    assert infini.ops.argmax(x).item() == length // 2
    x[-1] = NAN
    assert infini.ops.argmax(x).item() == length - 1
    values, indices = infini.ops.min(x, 0)
    assert values.isnan()
    assert indices.item() == length - 1
    x[length // 3] = NAN
    assert infini.ops.argmax(x).item() == length // 3


def test_a_trailing_dimension_of_one() -> None:
    assert not infini.ops.argmax(torch.zeros(40, 900, 1), dim=2).any()


def test_positions_count_over_all_dimensions() -> None:
    x = torch.randn(7, 5, 11)
    for view in (x, x.permute(2, 0, 1), x[:, ::2]):
        assert infini.ops.argmax(view).item() == torch.argmax(view).item()


@pytest.mark.parametrize("dims", [[0], [1], [2], [3], [0, 2], [1, 3], [0, 1, 2], [1, 2], None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_any_dimensions_of_any_view(dims: Any, keepdim: bool) -> None:
    x = torch.randn(4, 9, 3, 70, dtype=torch.float64)
    for view in (x, x.permute(3, 1, 0, 2), x.expand(4, 9, 3, 70)[:, ::2], x.flip(0)):
        for name in ("sum", "mean", "amax", "amin"):
            theirs = getattr(torch, name)
            expected = theirs(view, dims if dims is not None else [0, 1, 2, 3], keepdim)
            actual = getattr(infini.ops, name)(view, dims, keepdim)
            assert torch.allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_a_dimension_is_named_once() -> None:
    with pytest.raises(ValueError, match="`dim` names dimension 1 twice"):
        infini.ops.sum(torch.ones(2, 3), dim=[1, -1])


def test_sums_of_integers_wrap_in_64_bits() -> None:
    x = torch.full((300,), 127, dtype=torch.int8)
    assert infini.ops.sum(x).item() == 38100
    assert infini.ops.sum(torch.tensor([2**63 - 1, 1])).item() == -(2**63)
    with pytest.raises(TypeError, match="`input` has dtype int8"):
        infini.ops.mean(x)


def test_long_sums_stay_exact() -> None:
    """Sums whose terms do not fit side by side in a float's 24 bits."""
    x = torch.full((1 << 22,), 0.1)
    expected = x.double().sum().item()
    assert abs(infini.ops.sum(x).item() - expected) <= 1e-6 * expected
    columns = torch.full((1 << 16, 8), 0.1)
    assert (infini.ops.sum(columns, dim=0) - columns.double().sum(0)).abs().max() < 1e-2


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_without_a_finite_element(name: str) -> None:
    for row in ([-INF, -INF, -INF], [INF, 0.0, 0.0], [NAN, 0.0, 0.0]):
        x = torch.tensor([row, [0.0, 0.0, 0.0]])
        actual = getattr(infini.ops, name)(x, -1)
        expected = getattr(torch, name)(x, -1)
        assert torch.equal(actual.isnan(), expected.isnan()), row
    x = torch.tensor([[-INF, 0.0, 0.0]])
    assert infini.ops.softmax(x, -1).tolist() == [[0.0, 0.5, 0.5]]
    assert infini.ops.log_softmax(x, -1)[0, 0] == -INF
    assert infini.ops.logsumexp(torch.tensor([INF, 0.0])).item() == INF
    assert infini.ops.logsumexp(torch.tensor([-INF, -INF])).item() == -INF
    assert infini.ops.logsumexp(torch.tensor([1000.0, 1000.0])).item() == pytest.approx(
        1000 + math.log(2)
    )


def test_causal_softmax_masks_what_comes_later() -> None:
    x = torch.zeros(1, 3, 5)
    result = infini.ops.causal_softmax(x)
    assert result[0, 0].tolist() == pytest.approx([1 / 3] * 3 + [0, 0])
    assert result[0, 2].tolist() == pytest.approx([1 / 5] * 5)
    assert infini.ops.causal_softmax(torch.zeros(4, 2))[1].isnan().all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("length", [1, 2, 3, 37, 64, 65, 1031, 4097])
@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-6, 1e-3, 1.0])
def test_rows_of_nearly_equal_numbers_keep_the_stated_error(
    dtype: str, length: int, spread: float, seed: int
) -> None:
    """What the mean of a row is off by is divided by a deviation that may be as small."""
    (sweep,) = (one for one in load_sweeps() if one.operator == "layer_norm")
    generator = torch.Generator().manual_seed(seed)
    center = 1 + 3 * torch.rand(20, 1, generator=generator, dtype=torch.float64)
    noise = 2 * torch.rand(20, length, generator=generator, dtype=torch.float64) - 1
    rows = (center + spread * noise).to(getattr(torch, dtype))
    # Exact in float64, of numbers that differ by less than their size.
    apart = rows.double() - rows.double()[:, :1]
    apart = apart - apart.mean(-1, keepdim=True)
    expected = apart / (apart.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    for layout in (rows, rows.t().contiguous().t()):
        actual = infini.ops.layer_norm(layout)
        report(sweep, actual, expected, f"{dtype} {length} {spread}", sweep.tolerance[dtype])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("beginning", [-1e4, 3.0, 1e4])
def test_a_row_whose_beginning_tells_nothing_of_its_mean_keeps_the_stated_error(
    dtype: str, beginning: float, seed: int
) -> None:
    """The mean is guessed from 64 elements, here far from all others."""
    (sweep,) = (one for one in load_sweeps() if one.operator == "layer_norm")
    rows = torch.randn(8, 300_000, generator=torch.Generator().manual_seed(seed))
    rows = rows.to(getattr(torch, dtype))
    rows[:, :64] = beginning
    wide = rows.double()
    apart = wide - wide.mean(-1, keepdim=True)
    expected = apart / (apart.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    actual = infini.ops.layer_norm(rows)
    report(sweep, actual, expected, f"{dtype} {beginning}", sweep.tolerance[dtype])


def test_a_row_of_equal_numbers_becomes_zeros() -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        for value in (0.1, 3.0, 1000.7):
            rows = torch.full((2, 777), value, dtype=dtype)
            assert torch.equal(infini.ops.layer_norm(rows), torch.zeros_like(rows))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("batch", [2, 16, 17, 64])
def test_a_row_has_the_same_bits_anywhere(dtype: Any, batch: int) -> None:
    row = torch.randn(1, 1037).to(dtype)
    weight = torch.randn(1037).to(dtype)
    functions = {
        "softmax": lambda x: infini.ops.softmax(x, -1),
        "log_softmax": lambda x: infini.ops.log_softmax(x, -1),
        "rms_norm": lambda x: infini.ops.rms_norm(x, weight),
        "layer_norm": lambda x: infini.ops.layer_norm(x, weight, weight),
        "sum": lambda x: infini.ops.sum(x, dim=-1),
        "logsumexp": lambda x: infini.ops.logsumexp(x, dim=-1),
    }
    for name, function in functions.items():
        alone = function(row)[0]
        for place in (0, batch // 2, batch - 1):
            rows = torch.randn(batch, 1037).to(dtype)
            rows[place] = row[0]
            assert torch.equal(function(rows)[place], alone), name


@pytest.mark.parametrize("shape", [(0, 300), (5, 0), (3, 0, 7), (0,)])
def test_fused_add_rms_norm_of_nothing_does_nothing(shape: Any) -> None:
    x, residual, weight = torch.ones(shape), torch.ones(shape), torch.ones(shape[-1])
    assert infini.ops.fused_add_rms_norm(x, residual, weight) is None
    assert x.shape == residual.shape == torch.Size(shape)
    one = torch.full((1, 4), 2.0)
    infini.ops.fused_add_rms_norm(one, torch.ones(1, 4), eps=0.0)
    torch.testing.assert_close(one, torch.ones(1, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_fused_add_rms_norm_writes_both_inputs(dtype: Any) -> None:
    x, residual = torch.randn(5, 300).to(dtype), torch.randn(5, 300).to(dtype)
    weight = torch.randn(300).to(dtype)
    wanted, wanted_sum = infini.ops.add_rms_norm(x, residual, weight, eps=1e-5)
    assert torch.equal(wanted_sum, x + residual)
    assert infini.ops.fused_add_rms_norm(x, residual, weight, eps=1e-5) is None
    assert torch.equal(residual, wanted_sum)
    assert torch.equal(x, wanted)
    assert torch.equal(wanted, infini.ops.rms_norm(wanted_sum, weight, eps=1e-5))


def test_large_float16_squares_do_not_overflow() -> None:
    x = torch.full((2, 64), 60000.0, dtype=torch.float16)
    assert torch.allclose(infini.ops.rms_norm(x), torch.ones_like(x))
    assert not infini.ops.layer_norm(x).isnan().any()
