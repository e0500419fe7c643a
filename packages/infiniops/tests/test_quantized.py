"""linear_int8 and linear_int4, native and with rounded activations, against float64."""

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    guarded,
)

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
NAMES = ["linear_int8", "linear_int4"]


class Case:
    """Random arguments of one operator, and its weight in float64."""

    def __init__(
        self,
        name: str,
        rows: int,
        inner: int,
        columns: int,
        dtype: Any,
        seed: int,
        *,
        group: int = 32,
        zero: bool = True,
        bias: bool = True,
    ) -> None:
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> Any:
            return torch.randn(shape, generator=generator)

        self.function = getattr(infini.ops, name)
        self.x = normal(rows, inner).to(dtype)
        self.bias = normal(columns).to(dtype) if bias else None
        if name == "linear_int8":
            shape = (columns, inner)
            weight = torch.randint(-128, 128, shape, generator=generator).to(torch.int8)
            scale = normal(columns)
            self.arguments = {"weight": weight, "scale": scale}
            self.wide = weight.to(torch.float64) * scale.to(torch.float64)[:, None]
            self.terms = self.wide.abs()
        else:
            groups = inner // group
            raw = (columns, groups, group // 2)
            weight = torch.randint(0, 256, raw, generator=generator).to(torch.uint8)
            scale = normal(columns, groups)
            eight = torch.full((columns, groups), 8.0)
            less = eight + 3 * normal(columns, groups) if zero else None
            self.arguments = {"weight": weight, "scale": scale, "zero": less}
            numbers = torch.stack((weight & 15, weight >> 4), -1).reshape(columns, groups, group)
            less = (eight if less is None else less).to(torch.float64)[..., None]
            factor = scale.to(torch.float64)[..., None]
            self.wide = ((numbers.to(torch.float64) - less) * factor).reshape(columns, inner)
            # What is added up is the number and the zero, each on its own.
            self.terms = ((numbers + less.abs()) * factor.abs()).reshape(columns, inner)

    def __call__(self, x: Any = None, **others: Any) -> Any:
        x = self.x if x is None else x
        return self.function(x, **{"bias": self.bias, **self.arguments, **others})

    @property
    def expected(self) -> Any:
        bias = None if self.bias is None else self.bias.to(torch.float64)
        return torch.nn.functional.linear(self.x.to(torch.float64), self.wide, bias)

    def check(self, actual: Any, *, rounds_weight: bool = False) -> None:
        info = torch.finfo(self.x.dtype)
        bias = torch.zeros(()) if self.bias is None else self.bias.to(torch.float64).abs()
        bound = self.x.to(torch.float64).abs() @ self.terms.t() + bias
        inner = self.x.shape[-1]
        expected = self.expected
        allowed = bound * 2**-24 * (inner + 6) + expected.abs() * info.eps / 2
        if rounds_weight:
            allowed += self.x.to(torch.float64).abs() @ self.wide.abs().t() * info.eps / 2
        assert actual.dtype == self.x.dtype
        assert ((actual.to(torch.float64) - expected).abs() <= allowed + info.tiny).all()

    def check_rounded(self, actual: Any) -> None:
        info = torch.finfo(self.x.dtype)
        largest = self.x.to(torch.float64).abs().amax(-1, keepdim=True)
        expected = self.expected
        step = 0.6 * largest / 127 * self.wide.abs().sum(-1)
        exact = largest * self.terms.sum(-1) * 2**-22
        allowed = step + exact + expected.abs() * info.eps + info.tiny
        assert ((actual.to(torch.float64) - expected).abs() <= allowed).all()


@pytest.mark.smoke
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 16, 17, 90])
@pytest.mark.parametrize(("inner", "columns"), [(32, 1), (96, 5), (512, 33), (1120, 70)])
def test_results_agree_with_float64(
    name: str, dtype: Any, rows: int, inner: int, columns: int, seed: int
) -> None:
    case = Case(name, rows, inner, columns, dtype, seed, bias=rows % 2 == 1)
    case.check(case(out=torch.full((rows, columns), float("nan"), dtype=dtype)))
    case.check_rounded(case(implementation="dynamic_int8"))
    if name == "linear_int4":
        rounds = dtype == torch.bfloat16 and rows > 16
        case.check(case(implementation="bfloat16_weight"), rounds_weight=rounds)


@pytest.mark.parametrize("rows", [1, 3, 20])
@pytest.mark.parametrize(
    ("group", "inner"),
    [(2, 34), (6, 66), (8, 8), (16, 48), (24, 120), (64, 192), (128, 640), (256, 512), (640, 640)],
)
@pytest.mark.parametrize("zero", [True, False])
def test_groups_of_any_length(rows: int, group: int, inner: int, zero: bool, seed: int) -> None:
    case = Case("linear_int4", rows, inner, 21, torch.float32, seed, group=group, zero=zero)
    case.check(case())
    case.check_rounded(case(implementation="dynamic_int8"))


@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize("inner", [1, 31, 577])
def test_int8_rows_of_odd_length(rows: int, inner: int, seed: int) -> None:
    case = Case("linear_int8", rows, inner, 13, torch.float32, seed)
    case.check(case())
    case.check_rounded(case(implementation="dynamic_int8"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
def test_a_row_does_not_depend_on_its_batch(name: str, implementation: str, seed: int) -> None:
    case = Case(name, 64, 352, 37, torch.bfloat16, seed)
    switches = implementation == "native"
    alone = [case(case.x[i : i + 1], implementation=implementation)[0] for i in range(64)]
    many = case(implementation=implementation)
    for batch in (2, 5, 16, 17, 64):
        together = case(case.x[64 - batch :], implementation=implementation)
        for row in range(batch):
            # The pages name the switch at 16 rows.
            reference = many[64 - batch + row] if switches and batch > 16 else None
            expected = alone[64 - batch + row] if reference is None else reference
            assert torch.equal(together[row], expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
@pytest.mark.parametrize("rows", [1, 50])
def test_threads_do_not_change_the_bits(
    name: str, implementation: str, rows: int, seed: int, by_threads: Any
) -> None:
    case = Case(name, rows, 768, 999, torch.float32, seed)
    results = by_threads(lambda: case(implementation=implementation))
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
@pytest.mark.parametrize("rows", [3, 20])
def test_strides_are_followed(name: str, implementation: str, rows: int, seed: int) -> None:
    case = Case(name, rows, 192, 45, torch.float32, seed)
    expected = case(implementation=implementation)

    def spread(tensor: Any) -> Any:
        if tensor is None:
            return None
        wide = tensor.new_empty([2 * size for size in tensor.shape])
        return wide[(slice(None, None, 2),) * tensor.ndim].copy_(tensor)

    out = torch.empty(45, rows).t()
    laid = {key: spread(tensor) for key, tensor in case.arguments.items()}
    case(spread(case.x), bias=spread(case.bias), out=out, implementation=implementation, **laid)
    if name == "linear_int8":
        assert torch.equal(out, expected)
    elif implementation == "native":  # spread weights take the second path
        case.check(out)
    else:
        case.check_rounded(out)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
def test_leading_dimensions_are_kept(name: str, implementation: str, seed: int) -> None:
    case = Case(name, 12, 64, 9, torch.float32, seed)
    expected = case(implementation=implementation)
    cube = case.x.reshape(2, 2, 3, 64)
    assert torch.equal(case(cube, implementation=implementation).reshape(12, 9), expected)
    turned = case(cube.transpose(0, 2), implementation=implementation)
    assert torch.equal(turned.transpose(0, 2).reshape(12, 9), expected)
    assert case(case.x[0], implementation=implementation).shape == (9,)


@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
def test_no_inputs_give_the_bias(implementation: str) -> None:
    bias = torch.arange(4.0)
    out = torch.full((3, 4), float("nan"))
    x, scale = torch.ones(3, 0), torch.ones(4)
    weight = torch.ones(4, 0, dtype=torch.int8)
    infini.ops.linear_int8(x, weight, scale, bias, out=out, implementation=implementation)
    assert torch.equal(out, bias.expand(3, 4))
    out.fill_(float("nan"))
    for shape in ((4, 0, 16), (4, 2, 0)):
        empty = torch.ones(shape, dtype=torch.uint8)
        scale = torch.ones(shape[:2])
        arguments = {"bias": bias, "out": out, "implementation": implementation}
        infini.ops.linear_int4(x, empty, scale, **arguments)
        assert torch.equal(out, bias.expand(3, 4))
    assert infini.ops.linear_int8(
        torch.ones(0, 5), torch.ones(2, 5, dtype=torch.int8), torch.ones(2)
    ).shape == (0, 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", ["native", "dynamic_int8"])
def test_nan_and_infinity_stay_in_their_row(name: str, implementation: str, seed: int) -> None:
    case = Case(name, 6, 96, 11, torch.float32, seed)
    clean = case(implementation=implementation)
    case.x[2, 5], case.x[4, 95] = float("nan"), float("inf")
    actual = case(implementation=implementation)
    assert not actual[[2, 4]].isfinite().any()
    others = [0, 1, 3, 5]
    assert torch.equal(actual[others], clean[others])


def test_rows_of_zeros_and_of_tiny_numbers_are_rounded_exactly(seed: int) -> None:
    case = Case("linear_int8", 3, 64, 7, torch.float32, seed, bias=False)
    case.x[0] = 0
    case.x[1] *= 2.0**-140
    actual = case(implementation="dynamic_int8")
    assert torch.equal(actual[0], torch.zeros(7))
    case.check_rounded(actual)


def test_the_extremes_of_int8_do_not_overflow() -> None:
    x = torch.full((1, 70000), -1.0)
    weight = torch.full((2, 70000), -128, dtype=torch.int8)
    for implementation in ("native", "dynamic_int8"):
        arguments = {"implementation": implementation}
        actual = infini.ops.linear_int8(x, weight, torch.ones(2), **arguments)
        torch.testing.assert_close(actual, torch.full((1, 2), 128.0 * 70000), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: infini.ops.linear_int4(
                torch.ones(2, 64), torch.ones(3, 2, 8, dtype=torch.uint8), torch.ones(3, 2)
            ),
            ValueError,
            "linear_int4 on cpu:0: `weight` has 2 groups of 16 numbers in a row; expected 64 "
            "numbers, as the last dimension of `input` has",
        ),
        (
            lambda: infini.ops.linear_int8(
                torch.ones(2, 64), torch.ones(3, 64, dtype=torch.uint8), torch.ones(3)
            ),
            TypeError,
            "linear_int8 on cpu:0: `weight` has dtype uint8; expected one of int8",
        ),
        (
            lambda: infini.ops.linear_int8(
                torch.ones(2, 64), torch.ones(3, 64, dtype=torch.int8), torch.ones(4)
            ),
            ValueError,
            "linear_int8 on cpu:0: `scale` has shape [4]; expected [3] ([weight.shape[0]])",
        ),
    ],
)
def test_bad_arguments_are_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 4, 17])
@pytest.mark.parametrize(
    ("inner", "group"), [(24, 8), (72, 24), (576, 32), (576, 64), (1000, 1000)]
)
def test_nothing_behind_the_operands_is_read(
    dtype: Any, rows: int, inner: int, group: int, seed: int
) -> None:
    for name, implementations in (
        ("linear_int8", ("native", "dynamic_int8")),
        ("linear_int4", ("native", "dynamic_int8", "bfloat16_weight")),
    ):
        case = Case(name, rows, inner, 13, dtype, seed, group=group)
        expected = {one: case(implementation=one) for one in implementations}
        case.x = guarded(case.x)
        case.arguments = {key: guarded(value) for key, value in case.arguments.items()}
        for one in implementations:
            assert torch.equal(case(implementation=one), expected[one])


@pytest.mark.parametrize("rows", [1, 16, 17])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_of_an_int8_weight_do_not_change_the_bits(dtype: Any, rows: int, seed: int) -> None:
    # So many that another order of additions shows after rounding to 16 bits.
    case = Case("linear_int8", rows, 1500, 4000, dtype, seed)
    expected = case()
    case.arguments["weight"] = case.arguments["weight"].t().contiguous().t()
    assert torch.equal(case(), expected)
