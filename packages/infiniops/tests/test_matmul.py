"""matmul, mm, bmm, addmm and gemm beyond what the sweep knows."""

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    guarded,
)

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def random(*shape: int, dtype: Any = torch.float32, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def check(a: Any, b: Any, actual: Any) -> None:
    wide = [t.to(torch.float64) for t in (a, b)]
    expected = torch.matmul(*wide)
    bound = torch.matmul(*(t.abs() for t in wide))
    info = torch.finfo(a.dtype)
    unit = 2**-53 if a.dtype == torch.float64 else 2**-24
    allowed = bound * unit * (a.shape[-1] + 2) + expected.abs() * info.eps / 2
    assert actual.shape == expected.shape
    assert ((actual.to(torch.float64) - expected).abs() <= allowed + info.tiny * info.eps).all()


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        (1, 700, 300),
        (2, 1025, 41),
        (4, 33, 257),
        (7, 5, 3),
        (17, 129, 31),
        (100, 1, 90),
        (200, 1100, 33),
        (130, 513, 300),
    ],
)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_every_blocking_and_transposition_is_right(
    dtype: Any, rows: int, inner: int, columns: int, transposed: Any, seed: int
) -> None:
    a = random(rows, inner, dtype=dtype, seed=seed)
    b = random(inner, columns, dtype=dtype, seed=seed + 1)
    laid = [
        t.t().contiguous().t() if swap else t for t, swap in zip((a, b), transposed, strict=True)
    ]
    out = torch.full((rows, columns), float("nan"), dtype=dtype)
    check(a, b, infini.ops.matmul(*laid, out=out))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_layout_does_not_change_the_bits(dtype: Any, seed: int) -> None:
    a, b = random(50, 1100, dtype=dtype, seed=seed), random(1100, 70, dtype=dtype, seed=seed + 1)
    expected = infini.ops.mm(a, b)
    wide = torch.empty(100, 2200, dtype=dtype)[::2, ::2].copy_(a)
    columns = b.t().contiguous()
    assert torch.equal(infini.ops.mm(a.t().contiguous().t(), b), expected)
    assert torch.equal(infini.ops.mm(wide, columns.t()), expected)
    assert torch.equal(infini.ops.mm(columns, a.t()), expected.t())
    assert torch.equal(infini.ops.linear(a, columns), expected)
    assert torch.equal(infini.ops.matmul(a.expand(3, 50, 1100), b)[1], expected)


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["matmul", "gemm", "mm"])
def test_a_row_does_not_depend_on_its_batch(dtype: Any, name: str, seed: int) -> None:
    function = getattr(infini.ops, name)
    a, b = random(64, 333, dtype=dtype, seed=seed), random(333, 37, dtype=dtype, seed=seed + 1)
    alone = [function(a[i : i + 1], b)[0] for i in range(64)]
    for batch in (2, 16, 17, 64):
        for begin in (0, 64 - batch):
            together = function(a[begin : begin + batch], b)
            for row in range(batch):
                assert torch.equal(together[row], alone[begin + row])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1100, 1300])
def test_blocks_that_share_a_copy_of_the_weight_do_not_change_the_bits(
    dtype: Any, rows: int, seed: int, by_threads: Any
) -> None:
    """Several blocks of rows, blocks of columns and parts of the depth, each with a rest."""
    a, b = random(rows, 1100, dtype=dtype, seed=seed), random(1100, 300, dtype=dtype, seed=seed + 1)
    results = by_threads(lambda: infini.ops.mm(a, b))
    results.append(infini.ops.mm(a, b.t().contiguous().t()))
    results.append(torch.cat([infini.ops.mm(part, b) for part in a.split(100)]))
    assert all(torch.equal(results[0], one) for one in results)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("inner", "columns"), [(1, 1), (7, 5), (513, 100), (1025, 257), (2049, 7)])
def test_few_rows_across_a_matrix_give_the_bits_of_many(
    dtype: Any, inner: int, columns: int, seed: int
) -> None:
    b = random(inner, columns, dtype=dtype, seed=seed)
    for a in (
        random(20, inner, dtype=dtype, seed=seed + 1),
        random(inner, 20, dtype=dtype, seed=seed + 2).t(),
    ):
        many = infini.ops.mm(a, b)
        for rows in range(1, 6):
            out = torch.full((rows, columns), float("nan"), dtype=dtype)
            assert torch.equal(infini.ops.mm(a[:rows], b, out=out), many[:rows])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 4, 9])
@pytest.mark.parametrize(("inner", "columns"), [(7, 5), (33, 17), (130, 65)])
def test_nothing_behind_the_operands_is_read(
    dtype: Any, rows: int, inner: int, columns: int, seed: int
) -> None:
    a = random(rows, inner, dtype=dtype, seed=seed)
    for b in (
        random(inner, columns, dtype=dtype, seed=seed + 1),
        random(columns, inner, dtype=dtype, seed=seed + 2).t(),
    ):
        last = guarded(b) if b.is_contiguous() else guarded(b.t().contiguous()).t()
        assert torch.equal(infini.ops.mm(guarded(a), last), infini.ops.mm(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_vector_gives_the_bits_of_a_matrix_of_one_row_or_column(dtype: Any, seed: int) -> None:
    a, b = random(90, 200, dtype=dtype, seed=seed), random(200, 70, dtype=dtype, seed=seed + 1)
    whole = infini.ops.matmul(a, b)
    assert torch.equal(infini.ops.matmul(a[3], b), whole[3])
    assert torch.equal(infini.ops.matmul(a, b[:, 5]), whole[:, 5])
    assert torch.equal(infini.ops.matmul(a[3], b[:, 5]), whole[3, 5])


def test_threads_do_not_change_the_bits(seed: int, by_threads: Any) -> None:
    a, b = random(4, 100, 700, seed=seed), random(4, 700, 90, seed=seed + 1)
    results = by_threads(lambda: infini.ops.bmm(a, b))
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("function", ["addmm", "gemm"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_beta_zero_reads_neither_the_addend_nor_the_output(function: str, dtype: Any) -> None:
    a, b = torch.ones(20, 5, dtype=dtype), torch.ones(5, 30, dtype=dtype)
    out = torch.full((20, 30), float("nan"), dtype=dtype)
    if function == "addmm":
        infini.ops.addmm(out, a, b, beta=0, out=out)
    else:
        infini.ops.gemm(a, b, out, beta=0.0, out=out)
    assert torch.equal(out, torch.full((20, 30), 5.0, dtype=dtype))


@pytest.mark.parametrize("rows", [3, 40])
def test_a_matrix_is_updated_in_place(rows: int, seed: int) -> None:
    a, b, c = (random(*shape, seed=seed) for shape in ((rows, 9), (9, 12), (rows, 12)))
    expected = infini.ops.gemm(a, b, c, alpha=2.0, beta=-0.5)
    infini.ops.gemm(a, b, c, alpha=2.0, beta=-0.5, out=c)
    assert torch.equal(c, expected)


def test_an_empty_inner_size_gives_zeros_and_keeps_the_addend() -> None:
    a, b = torch.ones(3, 0), torch.ones(0, 4)
    out = torch.full((3, 4), float("nan"))
    assert torch.equal(infini.ops.matmul(a, b, out=out), torch.zeros(3, 4))
    twos = torch.full((3, 4), 2.0)
    assert torch.equal(infini.ops.addmm(twos, a, b, beta=0.5), torch.ones(3, 4))
    assert torch.equal(infini.ops.gemm(a, b, twos, beta=0.5), torch.ones(3, 4))
    assert infini.ops.matmul(torch.ones(3, 0, 0), torch.ones(0, 0)).shape == (3, 0, 0)
    assert infini.ops.matmul(torch.ones(0), torch.ones(0)).item() == 0


@pytest.mark.parametrize("columns", [1, 3])
def test_huge_batches_of_small_matrices(columns: int, seed: int) -> None:
    a = random(65536, 5, 4, seed=seed)
    b = random(65536, 4, columns, seed=seed + 1)
    check(a, b, infini.ops.bmm(a, b))


def test_nan_and_infinity_stay_in_their_row_and_column() -> None:
    a, b = torch.ones(30, 70), torch.ones(70, 40)
    a[3, 69], b[0, 7] = float("nan"), float("inf")
    actual = infini.ops.matmul(a, b)
    assert actual[3].isnan().all()
    others = torch.arange(30) != 3
    assert (actual[others, 7] == float("inf")).all()
    plain = actual[others][:, torch.arange(40) != 7]
    assert torch.equal(plain, torch.full((29, 39), 70.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: infini.ops.matmul(torch.ones(2, 3), torch.ones(4, 5)),
            "matmul on cpu:0: `other` has shape [4, 5]; expected 3 in its second last dimension, "
            "as the last of `input` of shape [2, 3]",
        ),
        (
            lambda: infini.ops.matmul(torch.ones(3), torch.ones(4)),
            "matmul on cpu:0: `other` has shape [4]; expected 3 in its only dimension, as the last "
            "of `input` of shape [3]",
        ),
        (
            lambda: infini.ops.matmul(torch.ones(2, 2, 3), torch.ones(5, 3, 4)),
            "matmul on cpu:0: the leading dimensions of `input` of shape [2, 2, 3] and `other` of "
            "shape [5, 3, 4] do not broadcast: 2 and 5",
        ),
        (
            lambda: infini.ops.addmm(torch.ones(3), torch.ones(2, 3), torch.ones(3, 4)),
            "addmm on cpu:0: `input` has shape [3]; expected one that broadcasts to [2, 4], the "
            "shape of the product",
        ),
        (
            lambda: infini.ops.gemm(torch.ones(2, 3), torch.ones(3, 4), torch.ones(1, 2, 4)),
            "gemm on cpu:0: `c` has shape [1, 2, 4]; expected one that broadcasts to [2, 4], the "
            "shape of the product",
        ),
        (
            lambda: infini.ops.bmm(torch.ones(2, 2, 3), torch.ones(1, 3, 4)),
            "bmm on cpu:0: `mat2` has shape [1, 3, 4]; expected [2, 3, any] "
            "([input.shape[0], input.shape[2], _])",
        ),
    ],
)
def test_bad_shapes_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("inner", [3, 0])
def test_products_of_whole_numbers_are_refused(dtype: Any, inner: int) -> None:
    a, b = torch.zeros(2, inner).to(dtype), torch.zeros(inner, 4).to(dtype)
    out = torch.full((2, 4), 7).to(dtype)
    addend = torch.zeros(2, 4).to(dtype)
    for name, argument, call in (
        ("matmul", "input", lambda: infini.ops.matmul(a, b, out=out)),
        ("mm", "input", lambda: infini.ops.mm(a, b, out=out)),
        ("bmm", "input", lambda: infini.ops.bmm(a[None], b[None], out=out[None])),
        ("addmm", "input", lambda: infini.ops.addmm(addend, a, b, out=out)),
        ("gemm", "a", lambda: infini.ops.gemm(a, b, out=out)),
        ("gemm", "a", lambda: infini.ops.gemm(a, b, addend, out=out)),
        ("linear", "input", lambda: infini.ops.linear(a, b.t(), out=out)),
    ):
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value) == (
            f"{name} on cpu:0: `{argument}` has dtype {str(dtype).removeprefix('torch.')}; "
            "expected one of float16, bfloat16, float32, float64"
        )
    assert torch.equal(out, torch.full((2, 4), 7).to(dtype))


def test_the_output_must_lie_apart_from_the_factors() -> None:
    x = torch.randn(4, 4)
    kept = x.clone()
    with pytest.raises(ValueError, match="`out` and `mat1` share memory; they must lie apart"):
        infini.ops.addmm(x, x, torch.ones(4, 4), out=x)
    whole = torch.randn(8, 4)
    with pytest.raises(ValueError, match="`out` and `c` share memory"):
        infini.ops.gemm(x, x, whole[:4], out=whole[2:6])
    assert torch.equal(x, kept)
