from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the skip above

ACTIVATIONS = ["relu", "silu", "gelu", "gelu_tanh"]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]

pytestmark = pytest.mark.parametrize("activation", ACTIVATIONS)


def make(rows: Any, inner: Any, columns: Any, dtype: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(shape, generator=generator).to(dtype)
        for shape in ((rows, inner), (columns, inner), (columns,))
    )


def oracle(activation: str, sums: Any) -> Any:
    functional = torch.nn.functional
    if activation == "gelu_tanh":
        return functional.gelu(sums, approximate="tanh")
    return {"relu": torch.relu, "silu": functional.silu, "gelu": functional.gelu}[activation](sums)


def separate(activation: str, values: Any) -> Any:
    if activation == "gelu_tanh":
        return infini.ops.gelu(values, approximate="tanh")
    return getattr(infini.ops, activation)(values)


def columns_side_by_side(matrix: Any) -> Any:
    return matrix.t().contiguous().t()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 5, 16, 17, 97])
@pytest.mark.parametrize(("inner", "columns"), [(1, 1), (33, 5), (577, 129), (1100, 70)])
def test_every_path_gives_the_activation_of_exact_sums(
    activation: str, dtype: Any, across: bool, rows: int, inner: int, columns: int, seed: int
) -> None:
    x, weight, bias = make(rows, inner, columns, dtype, seed)
    wide = [t.double() for t in (x, weight, bias)]
    expected = oracle(activation, torch.nn.functional.linear(*wide))
    magnitude = torch.nn.functional.linear(*(t.abs() for t in wide))
    if across:
        weight = columns_side_by_side(weight)
    actual = infini.ops.linear_activation(x, weight, bias, activation=activation)
    # The slope of no activation is over 1.13; errors of the sums grow by no more.
    exact = dtype == torch.float64
    unit = 2**-53 if exact else 2**-24
    relative, absolute = (1e-12, 1e-14) if exact else (1e-5, 1e-6)  # as the activation's own
    info = torch.finfo(dtype)
    allowed = 1.13 * magnitude * unit * (inner + 2) + absolute
    allowed += expected.abs() * (relative + info.eps / 2)
    assert ((actual.double() - expected).abs() <= allowed).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("rows", [1, 97])
def test_special_values_are_those_of_the_separate_operator(
    activation: str, dtype: Any, across: bool, rows: int
) -> None:
    largest = torch.finfo(dtype).max
    special = [torch.inf, -torch.inf, torch.nan, 0.0, -0.0, largest, -largest, -200.0, -20.0]
    weight = torch.zeros(len(special) + 8, 2, dtype=dtype)
    if across:
        weight = columns_side_by_side(weight)
    # Places of whole vectors and places behind the last one.
    bias = torch.tensor([*special, *special[:8]], dtype=dtype)
    x = torch.ones(rows, 2, dtype=dtype)
    actual = infini.ops.linear_activation(x, weight, bias, activation=activation)
    expected = separate(activation, infini.ops.linear(x, weight, bias))
    assert torch.equal(actual.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(actual.signbit()[numbers], expected.signbit()[numbers])
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("inner", "columns"), [(64, 16), (333, 37)])
def test_a_row_does_not_depend_on_its_batch(
    activation: str, dtype: Any, inner: int, columns: int, seed: int
) -> None:
    x, weight, bias = make(33, inner, columns, dtype, seed)

    def run(rows: Any) -> Any:
        return infini.ops.linear_activation(rows, weight, bias, activation=activation)

    alone = torch.cat([run(x[i : i + 1]) for i in range(33)])
    for batch in (2, 5, 16, 17, 33):
        assert torch.equal(run(x[:batch]), alone[:batch])
        assert torch.equal(run(x[33 - batch :]), alone[33 - batch :])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("rows", [1, 130])
def test_threads_do_not_change_the_bits(
    activation: str, dtype: Any, across: bool, rows: int, seed: int, by_threads: Any
) -> None:
    x, weight, bias = make(rows, 300, 499, dtype, seed)
    if across:
        weight = columns_side_by_side(weight)
    results = by_threads(
        lambda: infini.ops.linear_activation(x, weight, bias, activation=activation)
    )
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 9, 40])
def test_strides_do_not_change_the_bits(activation: str, dtype: Any, rows: int, seed: int) -> None:
    x, weight, bias = make(rows, 70, 45, dtype, seed)
    expected = infini.ops.linear_activation(x, weight, bias, activation=activation)
    spaced = torch.empty(90, dtype=dtype)[::2].copy_(bias)
    around = torch.full((rows, 90), 3.0, dtype=dtype)
    infini.ops.linear_activation(
        columns_side_by_side(x),
        columns_side_by_side(weight),
        spaced,
        activation=activation,
        out=around[:, ::2],
    )
    assert torch.equal(around[:, ::2], expected)
    assert (around[:, 1::2] == 3).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("biased", [False, True])
def test_inner_size_zero_gives_the_activation_of_the_bias(
    activation: str, dtype: Any, rows: int, biased: bool
) -> None:
    bias = torch.arange(-9.0, 10.0).to(dtype)
    x, weight = torch.ones(rows, 0, dtype=dtype), torch.ones(19, 0, dtype=dtype)
    actual = infini.ops.linear_activation(
        x, weight, bias if biased else None, activation=activation
    )
    expected = separate(activation, bias if biased else torch.zeros_like(bias))
    torch.testing.assert_close(actual, expected.expand(rows, 19))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "columns"), [(0, 4), (3, 0), (0, 0)])
def test_empty_results_are_empty(activation: str, dtype: Any, rows: int, columns: int) -> None:
    x, weight = torch.ones(rows, 5, dtype=dtype), torch.ones(columns, 5, dtype=dtype)
    actual = infini.ops.linear_activation(x, weight, activation=activation)
    assert actual.shape == (rows, columns)


def test_another_spelling_is_refused_before_anything_is_written(activation: str) -> None:
    out = torch.full((2, 2), 3.0)
    with pytest.raises(ValueError) as error:
        infini.ops.linear_activation(
            torch.ones(2, 3), torch.ones(2, 3), activation=activation.upper(), out=out
        )
    message = str(error.value)
    assert message.startswith("linear_activation")
    for part in ("`activation`", *(f"`{name}`" for name in ACTIVATIONS), activation.upper()):
        assert part in message
    assert (out == 3).all()
