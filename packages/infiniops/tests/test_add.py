from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the setting or skip above

DTYPES = [torch.float32, torch.bfloat16, torch.int64]


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((0, 3), (1, 3), (0, 3)),
        ((2, 0), (2, 1), (2, 0)),
        ((0,), (), (0,)),
        ((1, 0, 1), (4, 1, 5), (4, 0, 5)),
        ((), (), ()),
        ((3, 1), (1, 4), (3, 4)),
    ],
)
def test_shapes_broadcast(dtype: Any, left: Any, right: Any, result: Any) -> None:
    a, b = torch.ones(left, dtype=dtype), torch.ones(right, dtype=dtype)
    assert infini.ops.add(a, b).shape == result
    out = torch.zeros(result, dtype=dtype)
    assert infini.ops.add(a, b, out=out) is out
    assert torch.equal(out, torch.full(result, 2, dtype=dtype))


def test_sizes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError) as error:
        infini.ops.add(torch.ones(0, 3), torch.ones(2, 3))
    assert str(error.value) == (
        "add on cpu:0: `input` of shape [0, 3] and `other` of shape [2, 3] do not broadcast: sizes "
        "0 and 2 must be equal, or one of them 1"
    )


def test_output_of_another_shape_is_refused_before_it_is_written() -> None:
    out = torch.full((1, 3), 7.0)
    with pytest.raises(ValueError) as error:
        infini.ops.add(torch.ones(0, 3), torch.ones(1, 3), out=out)
    assert str(error.value) == (
        "add on cpu:0: `out` has shape [1, 3]; expected [0, 3] (broadcast(input, other))"
    )
    assert torch.equal(out, torch.full((1, 3), 7.0))


@pytest.mark.parametrize("rank", [0, 1, 8, 9, 12, 20])
def test_any_rank_works(rank: Any) -> None:
    a = torch.arange(2.0 ** min(rank, 12)).reshape([2] * min(rank, 12) + [1] * (rank - 12))
    assert torch.equal(infini.ops.add(a, a), a + a)
    reverse = list(range(rank))[::-1]
    assert torch.equal(infini.ops.add(a.permute(reverse), a), a.permute(reverse) + a)


def test_more_dimensions_than_a_task_holds_are_an_error() -> None:
    wide = torch.zeros([2] * 17).permute(*range(16, -1, -1)).contiguous()
    a = wide.permute(*range(16, -1, -1))
    b = torch.zeros([2] * 17)
    order = [(7 * i) % 17 for i in range(17)]
    with pytest.raises(NotImplementedError, match="copy it to a contiguous tensor"):
        infini.ops.add(a.permute(order), b, out=torch.zeros([2] * 17))


@pytest.mark.parametrize("single", [(), (1,), (1, 1)])
@pytest.mark.parametrize("slicing", [np.s_[:, ::2], np.s_[1::2], np.s_[:, :3], np.s_[::-1, ::-2]])
@pytest.mark.parametrize("swap", [False, True])
def test_one_element_operand_meets_a_strided_one(single: Any, slicing: Any, swap: Any) -> None:
    base = np.arange(40, dtype=np.float32).reshape(5, 8)
    view, one = base[slicing], np.full(single, 100, np.float32)
    out = np.zeros((2 * view.shape[0], 3 * view.shape[1]), np.float32)[::2, ::3]
    left, right = (one, view) if swap else (view, one)
    infini.ops.add(left, right, out=out)
    np.testing.assert_array_equal(out, view + 100)


@pytest.mark.parametrize(
    ("dtype", "left", "right", "result"),
    [
        (torch.uint8, 250, 10, 4),
        (torch.int8, 127, 1, -128),
        (torch.int16, 32767, 1, -32768),
        (torch.int32, 2**31 - 1, 1, -(2**31)),
        (torch.int64, 2**63 - 1, 1, -(2**63)),
        (torch.bool, True, True, True),
        (torch.bool, False, False, False),
    ],
)
@pytest.mark.parametrize("count", [1, 3, 67])
def test_integers_wrap_and_bools_or(
    dtype: Any, left: Any, right: Any, result: Any, count: Any
) -> None:
    a = torch.full((count,), left, dtype=dtype)
    b = torch.full((count,), right, dtype=dtype)
    assert torch.equal(infini.ops.add(a, b), torch.full((count,), result, dtype=dtype))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (torch.float32, torch.bfloat16),
        (torch.int32, torch.int64),
        (torch.float32, torch.int32),
        (torch.bool, torch.uint8),
    ],
)
def test_mixed_dtypes_are_refused_and_named(left: Any, right: Any) -> None:
    with pytest.raises(TypeError) as error:
        infini.ops.add(torch.ones(2, dtype=left), torch.ones(2, dtype=right))
    names = [str(dtype).removeprefix("torch.") for dtype in (right, left)]
    assert str(error.value) == (
        f"add on cpu:0: `other` has dtype {names[0]}, but `input` has {names[1]}; there is no type "
        "promotion, so convert one of them"
    )


@pytest.mark.parametrize(
    ("dtype", "alpha"),
    [
        (torch.float32, 2.5),
        (torch.float32, -1),
        (torch.float64, 1e-300),
        (torch.bfloat16, 3),
        (torch.float16, 0.5),
        (torch.int32, -7),
        (torch.int64, 2**62 + 1),
        (torch.uint8, 255),
        (torch.complex64, 1 - 2j),
        (torch.complex128, 0.5j),
    ],
)
def test_alpha_scales_other(dtype: Any, alpha: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        real = [torch.randn(100, generator=generator, dtype=torch.float64) for _ in range(4)]
        a = (torch.complex(*real[:2]) if dtype.is_complex else real[0]).to(dtype)
        b = (torch.complex(*real[2:]) if dtype.is_complex else real[1]).to(dtype)
    else:
        a, b = (torch.randint(0, 100, (100,), generator=generator).to(dtype) for _ in range(2))
    actual = infini.ops.add(a, b, alpha=alpha)
    if not (dtype.is_floating_point or dtype.is_complex):
        assert torch.equal(actual, torch.add(a, b, alpha=alpha))
        return
    # torch rounds the product of 16-bit floats by itself, so it is no oracle here.
    wide = torch.complex128 if dtype.is_complex else torch.float64
    scaled = alpha * b.to(wide)
    allowed = 2 * torch.finfo(dtype).eps * (a.to(wide).abs() + scaled.abs())
    assert ((actual.to(wide) - (a.to(wide) + scaled)).abs() <= allowed).all()


@pytest.mark.parametrize(("value", "result"), [(True, True), (False, False), (2, True), (0, False)])
def test_alpha_of_bools_is_a_condition(value: Any, result: Any) -> None:
    a, b = torch.zeros(5, dtype=torch.bool), torch.ones(5, dtype=torch.bool)
    assert infini.ops.add(a, b, alpha=value).tolist() == [result] * 5


@pytest.mark.parametrize(
    ("dtype", "alpha", "message"),
    [
        ("int32", 0.5, "`alpha` must be an integer, since `input` has dtype int32, got 0.5"),
        ("bool", 1.0, "`alpha` must be an integer, since `input` has dtype bool, got 1"),
        (
            "float32",
            1j,
            "`alpha` must be a real number, since `input` has dtype float32, got 0 + 1j",
        ),
    ],
)
def test_alpha_of_another_kind_is_refused(dtype: Any, alpha: Any, message: Any) -> None:
    a = torch.ones(2, dtype=getattr(torch, dtype))
    with pytest.raises(TypeError) as error:
        infini.ops.add(a, a, alpha=alpha)
    assert str(error.value) == f"add on cpu:0: {message}"


def test_special_values_survive() -> None:
    values = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45, 3e38])
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        a = values.to(dtype).repeat(11)
        b = a.flip(0).contiguous()
        actual, expected = infini.ops.add(a, b), torch.add(a, b)
        assert torch.equal(actual.isnan(), expected.isnan())
        clean = ~expected.isnan()
        assert torch.equal(actual[clean], expected[clean])
        assert torch.equal(actual[clean].signbit(), expected[clean].signbit())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halfway_sums_round_to_even(dtype: Any) -> None:
    one = torch.ones(64, dtype=dtype)
    half = torch.full((64,), torch.finfo(dtype).eps / 2, dtype=dtype)
    assert torch.equal(infini.ops.add(one, half), one)
    odd = torch.full((64,), 1 + torch.finfo(dtype).eps, dtype=dtype)
    assert torch.equal(
        infini.ops.add(odd, half), torch.full((64,), 1 + 2 * torch.finfo(dtype).eps).to(dtype)
    )


@pytest.mark.smoke
def test_output_may_be_an_input() -> None:
    a, b = torch.randn(5, 7), torch.randn(5, 7)
    expected = a + b
    kept = b.clone()
    assert infini.ops.add(a, b, out=a) is a
    assert torch.equal(a, expected)
    infini.ops.add(b, b, out=b)
    assert torch.equal(b, kept + kept)


def test_output_that_overlaps_an_input_is_refused() -> None:
    base = torch.arange(10.0)
    with pytest.raises(ValueError) as error:
        infini.ops.add(base[:-1], torch.ones(9), out=base[1:])
    assert str(error.value) == (
        "add on cpu:0: `out` and `input` share memory; they must be the same view or lie apart, "
        "got float32[9] on cpu:0 and float32[9] on cpu:0"
    )
    assert torch.equal(base, torch.arange(10.0))


def test_expanded_output_is_refused() -> None:
    out = torch.zeros(3, 1).expand(3, 5)
    with pytest.raises(ValueError, match=r"`out` is .* whose elements share memory"):
        infini.ops.add(torch.ones(3, 5), torch.ones(3, 5), out=out)


def test_large_sums_are_split_between_threads(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(3, 70001, generator=generator)
    b = torch.randn(70001, generator=generator)
    assert torch.equal(infini.ops.add(a, b), a + b)
    assert torch.equal(infini.ops.add(a.t(), a.t()), a.t() + a.t())
