"""Elementwise operators: what random inputs in ordinary layouts cannot show."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the skip above

NAN, INF = math.nan, math.inf
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
UNARY = {
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "erf": torch.erf,
    "silu": torch.nn.functional.silu,
    "relu": torch.relu,
    "neg": torch.neg,
    "abs": torch.abs,
}


def same(actual: Any, expected: Any) -> bool:
    """Equal elements, with NaN equal to itself and -0 unlike 0."""
    return bool(
        torch.equal(actual.isnan(), expected.isnan())
        and torch.equal(actual.nan_to_num(0, 1, -1), expected.nan_to_num(0, 1, -1))
        and torch.equal(actual.isinf(), expected.isinf())
        and torch.equal(actual.signbit() & ~actual.isnan(), expected.signbit() & ~expected.isnan())
    )


@pytest.mark.parametrize("name", UNARY)
def test_special_values_are_those_of_torch(name: str) -> None:
    x = torch.tensor([0.0, -0.0, INF, -INF, NAN] * 7)
    # relu of -0 is 0 in torch's vectors and -0 in its scalars.
    actual, expected = getattr(infini.ops, name)(x), UNARY[name](x)
    if name == "relu":
        actual, expected = actual + 0.0, expected + 0.0
    assert same(actual, expected), (actual, expected)


FUNCTIONS = {name: UNARY[name] for name in (*UNARY,) if name not in ("relu", "neg", "abs")}
ULP = {"sin": 3, "cos": 3, "sigmoid": 3, "silu": 4}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_range_of_floats_keeps_the_stated_error(name: str, seed: int) -> None:
    """A sample of all bit patterns of float32 against float64."""
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(-(2**31), 2**31, [400_003], generator=generator)
    x = bits.to(torch.int32).view(torch.float32)
    x = x[torch.isfinite(x)]
    actual = getattr(infini.ops, name)(x)
    wide = FUNCTIONS[name](x.to(torch.float64))
    expected = wide.to(torch.float32)
    step = torch.nextafter(expected.abs(), torch.full_like(expected, INF)) - expected.abs()
    step = step.to(torch.float64)
    error = (actual.to(torch.float64) - wide).abs() / step
    settled = (actual == expected) | (actual.isnan() & expected.isnan())
    error = torch.where(settled, 0.0, error).nan_to_num(nan=INF)
    worst = int(error.argmax())
    assert error[worst] <= ULP.get(name, 2), (x[worst], actual[worst], wide[worst])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", range(1, 68))
def test_nan_is_never_lost(dtype: Any, length: int) -> None:
    for place in {0, length - 1, min(32, length - 1)}:
        x = torch.zeros(length, dtype=dtype)
        x[place] = NAN
        zero = torch.zeros(length, dtype=dtype)
        wanted = x.isnan()
        for result in (
            infini.ops.clamp(x, min=-1, max=1),
            infini.ops.clamp(x, min=0.0),
            infini.ops.relu(x),
            infini.ops.maximum(x, zero),
            infini.ops.maximum(zero, x),
            infini.ops.minimum(x, zero),
            infini.ops.minimum(zero, x),
        ):
            assert torch.equal(result.isnan(), wanted)
        assert infini.ops.amax(x).isnan()
        assert infini.ops.amin(x).isnan()
    ones = torch.ones(length, dtype=dtype)
    assert infini.ops.clamp(ones, min=NAN).isnan().all()
    assert infini.ops.clamp(ones, max=NAN).isnan().all()


def test_clamp_bounds() -> None:
    x = torch.tensor([-5, 0, 5], dtype=torch.int8)
    assert infini.ops.clamp(x, min=-1000, max=1000).tolist() == [-5, 0, 5]
    assert infini.ops.clamp(x, min=3, max=-3).tolist() == [-3, -3, -3]
    unsigned = torch.tensor([0, 7, 255], dtype=torch.uint8)
    assert infini.ops.clamp(unsigned, min=-1, max=9).tolist() == [0, 7, 9]
    with pytest.raises(ValueError, match="`min` and `max` are both None"):
        infini.ops.clamp(x)
    with pytest.raises(TypeError, match="`min` must be an integer"):
        infini.ops.clamp(x, min=0.5)


def test_integers_at_their_ends() -> None:
    least = torch.tensor([-128, 127], dtype=torch.int8)
    assert infini.ops.neg(least).tolist() == [-128, -127]
    assert infini.ops.abs(least).tolist() == [-128, 127]
    minus = torch.tensor([-1, -1], dtype=torch.int8)
    assert infini.ops.floor_divide(least, minus).tolist() == [-128, -127]
    assert infini.ops.remainder(least, minus).tolist() == [0, 0]
    wide = torch.tensor([-(2**63), 2**63 - 1])
    assert infini.ops.sub(wide, torch.ones_like(wide)).tolist() == [2**63 - 1, 2**63 - 2]
    large = torch.tensor([2**64 - 1, 2**63, 1], dtype=torch.uint64)
    one = torch.tensor(1, dtype=torch.uint64)
    assert infini.ops.gt(large, one).tolist() == [True, True, False]
    assert infini.ops.maximum(large, one).tolist() == [2**64 - 1, 2**63, 1]
    assert infini.ops.amin(large).item() == 1
    assert infini.ops.amax(large).item() == 2**64 - 1


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_of_integers_by_zero_writes_nothing(name: str) -> None:
    a = torch.arange(100_000)
    b = torch.ones(100_000, dtype=torch.int64)
    b[77_777] = 0
    out = torch.full_like(a, 5)
    with pytest.raises(ValueError, match="`other` has an integer element that is zero"):
        getattr(infini.ops, name)(a, b, out=out)
    assert (out == 5).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float32, torch.bfloat16])
def test_floor_divide_and_remainder_have_pythons_signs(dtype: Any) -> None:
    a = torch.tensor([7, -7, 7, -7, 6, -6, 0], dtype=dtype)
    b = torch.tensor([2, 2, -2, -2, 3, 3, 5], dtype=dtype)
    quotient = [x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    rest = [x % y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert infini.ops.floor_divide(a, b).tolist() == quotient
    assert infini.ops.remainder(a, b).tolist() == rest


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "pow"])
def test_two_floats_with_special_values_are_those_of_torch(name: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 2.0**30, 1e-30, INF, -INF, NAN]
    a, b = (t.reshape(-1) for t in torch.meshgrid(*[torch.tensor(values)] * 2, indexing="ij"))
    actual = getattr(infini.ops, name)(a, b)
    wide = getattr(torch, name)(a.double(), b.double()).float()
    assert same(actual, wide), [
        (x, y, p, q)
        for x, y, p, q in zip(*(t.tolist() for t in (a, b, actual, wide)), strict=True)
        if p != q and not (p != p and q != q)
    ]


def test_powers_of_integers() -> None:
    base = torch.tensor([2, -2, 1, -1, -1, 0, 3, 2])
    exponent = torch.tensor([10, 3, -5, -3, -4, 0, -1, 64])
    assert infini.ops.pow(base, exponent).tolist() == [1024, -8, 1, -1, 1, 1, 0, 0]


def test_whole_numbers_are_refused_by_div() -> None:
    with pytest.raises(TypeError, match="`input` has dtype int32; expected one of"):
        infini.ops.div(torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int32))


def test_bools_may_be_any_byte_but_zero() -> None:
    odd = torch.tensor([0, 1, 2, 255], dtype=torch.uint8).view(torch.bool)
    one = torch.tensor([0, 1, 1, 1], dtype=torch.uint8).view(torch.bool)
    assert infini.ops.eq(odd, one).view(torch.uint8).tolist() == [1, 1, 1, 1]
    assert infini.ops.bitwise_xor(odd, one).view(torch.uint8).tolist() == [0, 0, 0, 0]
    assert infini.ops.bitwise_not(odd).view(torch.uint8).tolist() == [1, 0, 0, 0]
    assert infini.ops.logical_not(odd).view(torch.uint8).tolist() == [1, 0, 0, 0]
    assert infini.ops.sum(odd).item() == 3
    chosen = infini.ops.where(odd, torch.ones(4), torch.zeros(4))
    assert chosen.tolist() == [0, 1, 1, 1]


def test_a_bool_output_is_no_view_of_a_wider_input() -> None:
    x = torch.ones(8)
    out = x.view(torch.bool)[:8]
    with pytest.raises(ValueError, match="share memory"):
        infini.ops.gt(x, torch.zeros(8), out=out)


@pytest.mark.parametrize("name", ["add", "mul", "div", "sub", "maximum", "eq"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_meets_strided_operands(name: str, shape: tuple[int, ...]) -> None:
    """A single number takes no short cut past the other operand's strides."""
    wide = torch.randn(5, 8)
    single = torch.randn(shape)
    for view in (wide[:, ::2], wide[1::2], wide.t(), wide[:, :1]):
        ours = getattr(infini.ops, name)
        theirs = getattr(torch, name)
        assert torch.equal(ours(view, single), theirs(view, single))
        assert torch.equal(ours(single, view), theirs(single, view))
        expected = theirs(view, single)
        target = torch.zeros(*expected.shape, 2, dtype=expected.dtype)[..., 0]
        ours(view, single, out=target)
        assert torch.equal(target, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_sizes_of_one_and_zero_broadcast_to_zero(dtype: Any) -> None:
    for a, b, result in (
        ((0, 3), (1, 3), (0, 3)),
        ((2, 0), (2, 1), (2, 0)),
        ((0,), (), (0,)),
        ((1, 0, 1), (4, 1, 5), (4, 0, 5)),
    ):
        x, y = torch.ones(a, dtype=dtype), torch.ones(b, dtype=dtype)
        for name in ("add", "sub", "mul", "maximum", "lt", "swiglu"):
            if name == "swiglu" and dtype == torch.int64:
                continue
            assert tuple(getattr(infini.ops, name)(x, y).shape) == result
    with pytest.raises(ValueError, match="do not broadcast"):
        infini.ops.sub(torch.ones(0, 3, dtype=dtype), torch.ones(2, 3, dtype=dtype))


def test_gelu_refuses_other_words() -> None:
    with pytest.raises(ValueError, match="`approximate` must be one of `none`, `tanh`, got `sig`"):
        infini.ops.gelu(torch.ones(2), approximate="sig")


def test_gated_rows_must_be_even() -> None:
    with pytest.raises(ValueError, match=r"`input` has shape \[2, 3\]; expected a size that 2"):
        infini.ops.silu_and_mul(torch.ones(2, 3))


def test_a_gate_far_below_zero_does_not_overflow() -> None:
    x = torch.tensor([[-200.0, 3.0], [200.0, 3.0], [-INF, 1.0]])
    result = infini.ops.silu_and_mul(x)
    assert result[0, 0] == 0
    assert result[1, 0] == 600
    assert result[2, 0].isnan()


EDGES = [
    float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e-45, -1e-45, 1e-38, 3e38, -3e38,
    -91.82527, -90.0, -103.9, -104.1, -109.5, 88.5, 89.5, 5.0, -5.0,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["silu", "sigmoid", "tanh", "exp", "gelu", "relu", "erf"])
def test_activations_hold_at_the_edges_of_numbers(name: str, dtype: Any) -> None:
    # Each edge in whole vectors and in what is left of one.
    x = torch.tensor(EDGES, dtype=torch.float64).to(dtype).repeat(9)
    oracle = getattr(torch.nn.functional, name, None) or getattr(torch, name)
    wanted = oracle(x.double()).to(dtype)
    found = getattr(infini.ops, name)(x)
    assert torch.equal(found.isnan(), wanted.isnan())
    numbers = ~wanted.isnan()
    assert torch.equal(found.signbit()[numbers], wanted.signbit()[numbers])
    smallest = {torch.float32: 3e-45, torch.float64: 1e-14, torch.float16: 1e-7}.get(dtype, 1e-40)
    if name == "gelu":  # states an absolute error
        smallest = max(smallest, 2e-6)
    torch.testing.assert_close(
        found,
        wanted,
        rtol=2e-6 if dtype in (torch.float32, torch.float64) else 1e-2,
        atol=smallest,
        equal_nan=True,
    )
