import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the setting or skip above

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def make(rows: Any, inner: Any, columns: Any, dtype: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(shape, generator=generator).to(dtype)
        for shape in ((rows, inner), (columns, inner), (columns,))
    )


def check(x: Any, weight: Any, bias: Any, actual: Any) -> Any:
    wide = [None if t is None else t.to(torch.float64) for t in (x, weight, bias)]
    expected = torch.nn.functional.linear(*wide)
    bound = torch.nn.functional.linear(*(None if t is None else t.abs() for t in wide))
    inner = x.shape[-1]
    # Each of the products and sums rounds in float32, the result once more in its dtype.
    info = torch.finfo(x.dtype)
    unit = 2**-53 if x.dtype == torch.float64 else 2**-24
    allowed = bound * unit * (inner + 2) + expected.abs() * info.eps / 2
    assert ((actual.to(torch.float64) - expected).abs() <= allowed + info.tiny * info.eps).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 13, 97, 200])
@pytest.mark.parametrize(
    ("inner", "columns"), [(1, 1), (16, 8), (33, 5), (64, 100), (577, 129), (1100, 70)]
)
def test_every_tile_size_is_right(
    dtype: Any, rows: Any, inner: Any, columns: Any, seed: int
) -> None:
    x, weight, bias = make(rows, inner, columns, dtype, seed)
    check(x, weight, bias, infini.ops.linear(x, weight, bias))


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
def test_leading_dimensions_are_kept(dtype: Any, seed: int) -> None:
    x, weight, bias = make(24, 40, 12, dtype, seed)
    actual = infini.ops.linear(x.reshape(2, 3, 4, 40), weight, bias)
    assert actual.shape == (2, 3, 4, 12)
    assert torch.equal(actual.reshape(24, 12), infini.ops.linear(x, weight, bias))
    assert infini.ops.linear(x[0], weight, bias).shape == (12,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [False, True])
def test_inner_size_zero_gives_the_bias(dtype: Any, bias: Any) -> None:
    b = torch.arange(4.0).to(dtype) if bias else None
    out = torch.full((3, 4), float("nan"), dtype=dtype)
    infini.ops.linear(torch.ones(3, 0, dtype=dtype), torch.ones(4, 0, dtype=dtype), b, out=out)
    expected = torch.zeros(3, 4, dtype=dtype) if b is None else b.expand(3, 4)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("columns", [0, 4])
def test_empty_results_are_empty(rows: Any, columns: Any) -> None:
    actual = infini.ops.linear(torch.ones(rows, 5), torch.ones(columns, 5))
    assert actual.shape == (rows, columns)
    assert torch.equal(actual, torch.full((rows, columns), 5.0))


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("inner", "columns"), [(576, 64), (333, 37)])
def test_a_row_does_not_depend_on_its_batch(
    dtype: Any, inner: Any, columns: Any, seed: int
) -> None:
    x, weight, bias = make(64, inner, columns, dtype, seed)
    alone = [infini.ops.linear(x[i : i + 1], weight, bias)[0] for i in range(64)]
    for batch in (2, 5, 16, 17, 64):
        together = infini.ops.linear(x[:batch], weight, bias)
        for row in range(batch):
            assert torch.equal(together[row], alone[row])
        shifted = infini.ops.linear(x[64 - batch :], weight, bias)
        assert torch.equal(shifted[-1], alone[63])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 130])
def test_threads_do_not_change_the_bits(dtype: Any, rows: Any, seed: int, by_threads: Any) -> None:
    x, weight, bias = make(rows, 700, 999, dtype, seed)
    results = by_threads(lambda: infini.ops.linear(x, weight, bias))
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 9])
def test_strides_do_not_change_the_bits(dtype: Any, rows: Any, seed: int) -> None:
    x, weight, bias = make(rows, 70, 45, dtype, seed)
    expected = infini.ops.linear(x, weight, bias)
    columns = [torch.empty(t.shape[::-1], dtype=dtype).t().copy_(t) for t in (x, weight)]
    spaced = torch.empty(90, dtype=dtype)[::2].copy_(bias)
    out = torch.empty(45, rows, dtype=dtype).t()
    infini.ops.linear(columns[0], columns[1], spaced, out=out)
    assert torch.equal(out, expected)


def test_output_must_lie_apart_from_the_input() -> None:
    x = torch.randn(4, 4)
    with pytest.raises(ValueError, match="`out` and `input` share memory; they must lie apart"):
        infini.ops.linear(x, torch.randn(4, 4), out=x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (torch.ones(2, 3), torch.ones(4, 5)),
            "`weight` has shape [4, 5]; expected [any, 3] ([_, input.shape[-1]])",
        ),
        (
            (torch.ones(2, 3), torch.ones(3)),
            "`weight` has shape [3]; expected [any, 3] ([_, input.shape[-1]])",
        ),
        (
            (torch.ones(2, 3), torch.ones(4, 3), torch.ones(3)),
            "`bias` has shape [3]; expected [4] ([weight.shape[0]])",
        ),
    ],
)
def test_bad_shapes_are_named(arguments: Any, message: Any) -> None:
    with pytest.raises(ValueError) as error:
        infini.ops.linear(*arguments)
    assert str(error.value) == f"linear on cpu:0: {message}"


def test_nan_and_infinity_stay_in_their_row() -> None:
    x = torch.ones(7, 40)
    x[3, 5], x[5, 39] = float("nan"), float("inf")
    actual = infini.ops.linear(x, torch.ones(9, 40))
    assert actual[3].isnan().all()
    assert (actual[5] == float("inf")).all()
    assert torch.equal(actual[[0, 1, 2, 4, 6]], torch.full((5, 9), 40.0))


FEW_ROWS = """
import sys
import torch
import infini.ops

generator = torch.Generator().manual_seed(int(sys.argv[1]))
results = []
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    for inner in (1, 31, 576, 1024, 1025, 4097, 8192, 9000):
        for columns in (1, 3, 4, 33, 70, 257):
            wide = torch.randn(columns, inner + 3, generator=generator).to(dtype)
            for rows in (1, 2, 3, 4, 5):
                x = torch.randn(rows, inner, generator=generator).to(dtype)
                for weight in (wide[:, :inner], wide[:, :inner].contiguous()):
                    results.append(infini.ops.linear(x, weight))
torch.save(results, sys.argv[2])
"""


def test_the_way_that_memory_is_read_does_not_change_the_bits(tmp_path: Path, seed: int) -> None:
    results = []
    for streams in ("one", "several"):
        path = tmp_path / streams
        command = [sys.executable, "-c", FEW_ROWS, str(seed), str(path)]
        subprocess.run(command, env={**os.environ, "INFINI_OPS_CPU_STREAMS": streams}, check=True)
        results.append(torch.load(path))
    for one, several in zip(*results, strict=True):
        assert torch.equal(one, several), (one.dtype, one.shape)
