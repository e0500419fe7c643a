"""The interpreter and the generated source agree with the NumPy interpreter on every kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from linnet_helpers.interpreter import run as run_numpy
from torch import Tensor

from linnet.backends.testing import GraphBuilder
from linnet.graph import KINDS, Graph
from linnet.torch import GraphProgram, load_program
from linnet.torch.dtypes import torch_dtype

Make = Callable[[GraphBuilder], Any]


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == "bool":
        return torch.rand(shape, generator=generator) < 0.5
    if dtype[0] in "iu":
        low = 1 if dtype[0] == "u" else -5
        return torch.randint(low, 9, shape, generator=generator).to(torch_dtype(dtype))
    return torch.randn(shape, generator=generator).to(torch_dtype(dtype))


def weights_of(graph: Graph) -> dict[str, Tensor]:
    return {p.path: sample(p.shape, p.dtype, 7 + k) for k, p in enumerate(graph.parameters)}


def run_everywhere(graph: Graph, inputs: dict[str, Tensor], tolerance: float = 1e-6) -> list[Any]:
    """Runs a graph by NumPy, interpreter and generated source; returns NumPy's flat results."""
    weights = weights_of(graph)
    expected = run_numpy(
        graph,
        {name: tensor.numpy() for name, tensor in inputs.items()},
        {path: tensor.numpy() for path, tensor in weights.items()},
    )
    flat = list(expected) if isinstance(expected, tuple) else [expected]
    for numerics in ("exact", "fast"):
        for compile in (False, True):
            model = load_program(GraphProgram([graph]), weights=weights, numerics=numerics)
            given = model.run_entry(graph.entry, inputs, compile=compile)
            for made, wanted in zip(
                given if isinstance(given, tuple) else [given], flat, strict=True
            ):
                assert tuple(made.shape) == wanted.shape
                assert np.allclose(
                    made.numpy(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True
                ), (compile, made, wanted)
    return flat


def unary(kind: str, dtype: str = "f32") -> Graph:
    builder = GraphBuilder()
    return builder.graph(builder.step(kind, builder.input("a", (3, 4), dtype)))


def binary(kind: str, dtype: str = "f32", **attributes: Any) -> Graph:
    builder = GraphBuilder()
    a, b = builder.input("a", (3, 4), dtype), builder.input("b", (4,), dtype)
    return builder.graph(builder.step(kind, a, b, **attributes))


@pytest.mark.parametrize("kind", ["neg", "exp", "sin", "cos", "tanh", "abs"])
def test_unary_kinds(kind: str) -> None:
    run_everywhere(unary(kind), {"a": sample((3, 4), "f32")})


@pytest.mark.parametrize("kind", ["log", "sqrt", "rsqrt"])
def test_unary_kinds_of_positive_numbers(kind: str) -> None:
    run_everywhere(unary(kind), {"a": sample((3, 4), "f32").abs() + 0.1})


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i64", "u8", "i8"])
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "min", "max"])
def test_arithmetic(kind: str, dtype: str) -> None:
    inputs = {"a": sample((3, 4), dtype), "b": sample((4,), dtype, 1)}
    run_everywhere(binary(kind, dtype), inputs)


def nonzero(dtype: str) -> dict[str, Tensor]:
    b = sample((4,), dtype, 1)
    return {"a": sample((3, 4), dtype) * 3, "b": torch.where(b == 0, torch.ones_like(b), b)}


@pytest.mark.parametrize("dtype", ["f32", "i32", "i64", "u8"])
@pytest.mark.parametrize("kind", ["div", "rem"])
def test_division_truncates_and_the_remainder_has_the_sign_of_the_first(
    kind: str, dtype: str
) -> None:
    run_everywhere(binary(kind, dtype), nonzero(dtype))


@pytest.mark.parametrize("dtype", ["bool", "i32", "u8"])
@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_bitwise_kinds(kind: str, dtype: str) -> None:
    inputs = {"a": sample((3, 4), dtype), "b": sample((4,), dtype, 1)}
    run_everywhere(binary(kind, dtype), inputs)


@pytest.mark.parametrize("kind", ["shl", "shr"])
def test_shifts_keep_the_sign(kind: str) -> None:
    inputs = {"a": sample((3, 4), "i32"), "b": torch.tensor([0, 1, 2, 3], dtype=torch.int32)}
    run_everywhere(binary(kind, "i32"), inputs)


@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(comparison: str) -> None:
    graph = binary("compare", "i32", comparison=comparison)
    run_everywhere(graph, {"a": sample((3, 4), "i32"), "b": sample((4,), "i32", 1)})


@pytest.mark.parametrize("dtype", ["u16", "u32", "u64"])
@pytest.mark.parametrize(
    "kind", ["add", "sub", "mul", "div", "rem", "min", "max", "shl", "shr", "and", "or", "xor"]
)
def test_unsigned_kinds_that_pytorch_lacks(kind: str, dtype: str) -> None:
    top = {"u16": 2**16 - 1, "u32": 2**32 - 1, "u64": 2**64 - 1}[dtype]
    a = [[0, 1, 5, top], [top - 2, 7, top // 2, top // 2 + 1], [3, 9, 100, 2]]
    b = [3, 1, 2, 5] if kind in ("shl", "shr") else [3, top, top // 2 + 2, 1]
    bits = {"u16": np.uint16, "u32": np.uint32, "u64": np.uint64}[dtype]
    inputs = {"a": torch.from_numpy(np.array(a, bits)), "b": torch.from_numpy(np.array(b, bits))}
    graph = binary(kind, dtype)
    model = load_program(GraphProgram([graph]))
    size = int(bits(0).itemsize * 8)
    by_kind: dict[str, Callable[[int, int], int]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x // y,
        "rem": lambda x, y: x % y,
        "min": min,
        "max": max,
        "shl": lambda x, y: x << y,
        "shr": lambda x, y: x >> y,
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
    }
    spelled = by_kind[kind]
    wanted = [[spelled(x, y) % 2**size for x, y in zip(row, b, strict=True)] for row in a]
    for compile in (False, True):
        made = model.run_entry("forward", inputs, compile=compile)
        assert made.numpy().tolist() == wanted, compile


@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_unsigned_comparisons_see_the_highest_bit(comparison: str) -> None:
    values = np.array([[0, 1, 2**63, 2**64 - 1]] * 3, np.uint64)
    others = np.array([1, 1, 2**63 - 1, 2**64 - 1], np.uint64)
    graph = binary("compare", "u64", comparison=comparison)
    run_everywhere(graph, {"a": torch.from_numpy(values), "b": torch.from_numpy(others)})


@pytest.mark.parametrize("dtype", ["u16", "u32", "u64"])
@pytest.mark.parametrize("reduction", ["sum", "prod", "max", "min"])
def test_unsigned_reductions(reduction: str, dtype: str) -> None:
    builder = GraphBuilder()
    a = builder.input("a", (3, 4), dtype)
    graph = builder.graph(
        (
            builder.step("reduce", a, shape=(3,), reduction=reduction, axes=(1,)),
            builder.step("cumsum", a, shape=(3, 4), axis=0),
        )
    )
    run_everywhere(graph, {"a": sample((3, 4), dtype)})


@pytest.mark.parametrize("number_first", [False, True])
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div", "rem", "min", "max"])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_constants_work_on_either_side(kind: str, dtype: str, number_first: bool) -> None:
    builder = GraphBuilder()
    a = builder.input("a", (3, 4), dtype)
    number = builder.constant(3 if dtype == "i32" else 0.3, dtype)
    operands = (number, a) if number_first else (a, number)
    graph = builder.graph(builder.step(kind, *operands))
    run_everywhere(graph, {"a": nonzero(dtype)["b"].repeat(3, 1)})


def test_a_constant_is_rounded_to_its_dtype_before_it_is_used() -> None:
    builder = GraphBuilder()
    a = builder.input("a", (1,), "bf16")
    graph = builder.graph(builder.step("mul", a, builder.constant(1.01, "bf16")))
    model = load_program(GraphProgram([graph]))
    x = torch.tensor([128.0], dtype=torch.bfloat16)
    rounded = x * torch.tensor([1.01]).to(torch.bfloat16)
    for compile in (False, True):
        assert torch.equal(model.run_entry("forward", [x], compile=compile), rounded)


@pytest.mark.parametrize(
    ("source", "target"),
    [("f32", "i32"), ("f32", "bool"), ("i32", "f32"), ("bool", "i64"), ("f32", "f64")],
)
def test_casts(source: str, target: str) -> None:
    builder = GraphBuilder()
    graph = builder.graph(builder.step("cast", builder.input("a", (9,), source), dtype=target))
    given = torch.tensor([0.0, -0.5, 0.5, 1.9, -1.9, 2.5, 1, 0, 3]).to(torch_dtype(source))
    run_everywhere(graph, {"a": given})


def movement(builder: GraphBuilder) -> Any:
    a = builder.input("a", (2, 3, 4))
    flat = builder.step("reshape", a, shape=(6, 4))
    turned = builder.step("permute", a, shape=(4, 2, 3), axes=(2, 0, 1))
    part = builder.step(
        "slice", turned, shape=(2, 2, 2), starts=(0, 0, 1), stops=(4, 2, 3), steps=(2, 1, 1)
    )
    row = builder.step(
        "slice", a, shape=(2, 3, 1), starts=(0, 0, 3), stops=(2, 3, 4), steps=(1,) * 3
    )
    wide = builder.step("broadcast", row, shape=(5, 2, 3, 4))
    both = builder.step("concat", a, a, row, shape=(2, 3, 9), axis=2)
    filled = builder.step("fill", builder.constant(2.5), shape=(2, 2))
    counted = builder.step("iota", shape=(5,), dtype="i64")
    running = builder.step("cumsum", a, shape=(2, 3, 4), axis=1)
    return flat, turned, part, wide, both, filled, counted, running


def test_movement_kinds() -> None:
    builder = GraphBuilder()
    graph = builder.graph(movement(builder))
    run_everywhere(graph, {"a": sample((2, 3, 4), "f32")})


def test_select_broadcasts_and_takes_numbers() -> None:
    builder = GraphBuilder()
    c, a = builder.input("c", (3, 1), "bool"), builder.input("a", (3, 4))
    lowest = builder.constant(-math.inf)
    graph = builder.graph(builder.step("select", c, a, lowest))
    run_everywhere(graph, {"c": sample((3, 1), "bool"), "a": sample((3, 4), "f32")})


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (2, 0)])
def test_element_puts_the_positions_axes_first(axes: tuple[int, ...]) -> None:
    builder = GraphBuilder()
    source = builder.input("a", (2, 3, 4))
    positions = [builder.input(f"p{k}", (5, 1) if k else (6,), "i32") for k in range(len(axes))]
    spread = (5, 6) if len(axes) == 2 else (6,)
    shape = (*spread, *(s for axis, s in enumerate((2, 3, 4)) if axis not in axes))
    graph = builder.graph(builder.step("element", source, *positions, shape=shape, axes=axes))
    inputs = {"a": sample((2, 3, 4), "f32")}
    for k, axis in enumerate(axes):
        size = (2, 3, 4)[axis]
        inputs[f"p{k}"] = torch.arange(5 if k else 6, dtype=torch.int32).remainder(size)
        inputs[f"p{k}"] = inputs[f"p{k}"].reshape((5, 1) if k else (6,))
    run_everywhere(graph, inputs)


def test_element_takes_unsigned_bytes_as_positions_and_not_as_a_mask() -> None:
    builder = GraphBuilder()
    source, at = builder.input("a", (3,)), builder.input("p", (3,), "u8")
    graph = builder.graph(builder.step("element", source, at, shape=(3,), axes=(0,)))
    inputs = {"a": sample((3,), "f32"), "p": torch.tensor([2, 0, 0], dtype=torch.uint8)}
    run_everywhere(graph, inputs)


@pytest.mark.parametrize("position", [-1, 3, 2**40])
@pytest.mark.parametrize("compile", [False, True])
def test_a_position_outside_its_axis_is_an_error_that_names_it(
    position: int, compile: bool
) -> None:
    builder = GraphBuilder()
    source, at = builder.input("a", (3,)), builder.input("p", (2,), "i64")
    graph = builder.graph(builder.step("element", source, at, shape=(2,), axes=(0,)))
    model = load_program(GraphProgram([graph]))
    with pytest.raises(IndexError, match=f"position {position} is outside axis 0 of size 3"):
        model.run_entry("forward", [torch.zeros(3), torch.tensor([0, position])], compile=compile)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), ()])
@pytest.mark.parametrize("reduction", ["sum", "prod", "max", "min"])
def test_reductions(reduction: str, axes: tuple[int, ...]) -> None:
    builder = GraphBuilder()
    a = builder.input("a", (2, 3, 4))
    shape = tuple(s for axis, s in enumerate((2, 3, 4)) if axis not in axes)
    graph = builder.graph(builder.step("reduce", a, shape=shape, reduction=reduction, axes=axes))
    run_everywhere(graph, {"a": sample((2, 3, 4), "f32")}, 1e-5)


@pytest.mark.parametrize("reduction", ["any", "all"])
def test_logical_reductions(reduction: str) -> None:
    builder = GraphBuilder()
    a = builder.input("a", (2, 3, 4), "bool")
    graph = builder.graph(builder.step("reduce", a, shape=(3,), reduction=reduction, axes=(0, 2)))
    run_everywhere(graph, {"a": sample((2, 3, 4), "bool")})


@pytest.mark.parametrize(
    ("reduction", "dtype", "wanted"),
    [
        ("sum", "f32", 0.0),
        ("prod", "f32", 1.0),
        ("max", "f32", -math.inf),
        ("min", "f32", math.inf),
        ("max", "i32", -(2**31)),
        ("min", "i8", 127),
        ("any", "bool", False),
        ("all", "bool", True),
    ],
)
def test_reductions_over_nothing(reduction: str, dtype: str, wanted: Any) -> None:
    builder = GraphBuilder()
    a = builder.input("a", (2, 0), dtype)
    graph = builder.graph(builder.step("reduce", a, shape=(2,), reduction=reduction, axes=(1,)))
    model = load_program(GraphProgram([graph]))
    empty = torch.zeros((2, 0), dtype=torch_dtype(dtype))
    for compile in (False, True):
        assert model.run_entry("forward", [empty], compile=compile).tolist() == [wanted] * 2


@pytest.mark.parametrize("kind", ["min", "max"])
def test_a_nan_wins_in_minimum_and_maximum(kind: str) -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", (3,)), builder.input("b", (3,))
    both = builder.step(kind, a, b)
    graph = builder.graph((both, builder.step("reduce", both, shape=(), reduction=kind, axes=(0,))))
    inputs = {"a": torch.tensor([1.0, math.nan, 2.0]), "b": torch.tensor([math.nan, 1.0, 3.0])}
    each, total = run_everywhere(graph, inputs)
    assert np.isnan(each[:2]).all()
    assert np.isnan(total)


@pytest.mark.parametrize(
    ("labels", "output", "shapes", "shape"),
    [
        (((0, 1), (2, 1)), (0, 2), ((3, 4), (5, 4)), (3, 5)),
        (((0, 1), (1, 2)), (0, 2), ((3, 4), (4, 5)), (3, 5)),
        (((0, 3, 1), (2, 1)), (0, 3, 2), ((2, 3, 4), (5, 4)), (2, 3, 5)),
        (((0, 1, 2), (0, 3, 2)), (0, 1, 3), ((2, 3, 4), (2, 5, 4)), (2, 3, 5)),
        (((0,), (0,)), (), ((4,), (4,)), ()),
        (((1,), (0, 1)), (0,), ((4,), (5, 4)), (5,)),
        (((0, 1), (2, 1)), (2, 0), ((3, 4), (5, 4)), (5, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "i64", "u32"])
def test_contractions(labels: Any, output: Any, shapes: Any, shape: Any, dtype: str) -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", shapes[0], dtype), builder.input("b", shapes[1], dtype)
    graph = builder.graph(builder.step("contract", a, b, shape=shape, inputs=labels, output=output))
    inputs = {"a": sample(shapes[0], dtype), "b": sample(shapes[1], dtype, 1)}
    run_everywhere(graph, inputs, 1e-5)


def scan_graph(start: int, stop: int) -> Graph:
    """Running products: carried *= x + i, and the sums seen on the way."""
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    first = builder.constant(1.0)
    wide = builder.step("broadcast", first, shape=(2,))
    with builder.nested(((), "i64"), ((2,), "f32")) as ((i, carried), outputs):
        moved = builder.step("add", x, builder.step("cast", i, dtype="f32"))
        product = builder.step("mul", carried, moved)
        outputs += [product, builder.step("add", product, first)]
    return builder.graph(builder.control("scan", [wide], [builder.body()], start=start, stop=stop))


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (2, 4), (1, 1)])
def test_scan_carries_and_stacks(start: int, stop: int) -> None:
    run_everywhere(scan_graph(start, stop), {"x": sample((2,), "f32")})


@pytest.mark.parametrize("limit", [-1.0, 5.0, 100.0])
def test_while_runs_until_its_condition_fails(limit: float) -> None:
    builder = GraphBuilder()
    x, bound = builder.input("x", ()), builder.constant(limit)
    with builder.nested(((), "f32"), ((), "i64")) as ((value, _), outputs):
        outputs.append(builder.step("compare", value, bound, comparison="lt"))
    condition = builder.body()
    one, two = builder.constant(1, "i64"), builder.constant(2.0)
    with builder.nested(((), "f32"), ((), "i64")) as ((value, count), outputs):
        outputs += [builder.step("mul", value, two), builder.step("add", count, one)]
    graph = builder.graph(
        builder.control("while", [x, builder.constant(0, "i64")], [condition, builder.body()])
    )
    run_everywhere(graph, {"x": torch.tensor(1.5)})


@pytest.mark.parametrize("choice", [True, False])
def test_if_runs_one_arm(choice: bool) -> None:
    builder = GraphBuilder()
    c, x, at = (
        builder.input("c", (), "bool"),
        builder.input("x", (3,)),
        builder.input("at", (), "i64"),
    )
    with builder.nested() as (_, outputs):
        row = builder.step("element", x, at, shape=(), axes=(0,))
        outputs += [builder.step("broadcast", row, shape=(3,)), builder.constant(7, "i64")]
    then = builder.body()
    with builder.nested() as (_, outputs):
        outputs += [x, at]
    graph = builder.graph(builder.control("if", [c], [then, builder.body()]))
    # The arm that is not taken would read outside.
    place = 1 if choice else 9
    inputs = {"c": torch.tensor(choice), "x": sample((3,), "f32"), "at": torch.tensor(place)}
    run_everywhere(graph, inputs)


def test_loops_nest() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    with builder.nested(((), "i64"), ((2,), "f32")) as ((_, outer), outputs):
        with builder.nested(((), "i64"), ((2,), "f32")) as ((_, inner), inner_outputs):
            inner_outputs.append(builder.step("add", inner, x))
        (total,) = builder.control("scan", [outer], [builder.body()], start=0, stop=2)
        outputs += [total, total]
    graph = builder.graph(builder.control("scan", [x], [builder.body()], start=0, stop=3))
    run_everywhere(graph, {"x": sample((2,), "f32")})


def test_every_kind_of_the_format_is_covered() -> None:
    text = (
        "neg exp sin cos tanh abs log sqrt rsqrt add sub mul div rem min max and or xor shl shr "
        "compare cast reshape permute slice broadcast concat fill iota cumsum select element "
        "reduce contract scan while if"
    )
    covered = set(text.split())
    # `not` and `state_write` have tests of their own below and in test_module.py.
    assert set(KINDS) - covered == {"not", "state_write"}


def test_not_is_logical() -> None:
    run_everywhere(unary("not", "bool"), {"a": sample((3, 4), "bool")})


def test_an_error_names_the_place_in_the_source() -> None:
    graph = binary("div", "i32")
    model = load_program(GraphProgram([graph]), compile=False)
    zeros = torch.zeros(4, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=r"demo\.linnet:1:5: div"):
        model.forward(torch.ones((3, 4), dtype=torch.int32), zeros)
