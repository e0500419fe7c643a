"""Integers of every dtype follow one table of results, however they are run."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from linnet.backends.testing import GraphBuilder
from linnet.graph import Graph
from linnet.torch import GraphProgram, LinnetModule, load_program
from linnet.torch.dtypes import torch_dtype

DTYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
MODES = {"interpreted": False, "generated": None, "inductor": "inductor"}


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


#: Kind -> what it is for whole numbers of any size, before they wrap.
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": toward_zero,
    "rem": lambda a, b: a - b * toward_zero(a, b),
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
UNARY: dict[str, Callable[[int], int]] = {"neg": operator.neg, "abs": abs}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SHIFTS: dict[str, Callable[[int, int], int]] = {"shl": operator.lshift, "shr": operator.rshift}


def width(dtype: str) -> int:
    return int(dtype[1:])


def wrapped(value: int, dtype: str) -> int:
    value &= (1 << width(dtype)) - 1
    signed = dtype[0] == "i" and value >> (width(dtype) - 1)
    return value - (1 << width(dtype)) if signed else value


def tensor(values: list[int], dtype: str) -> Tensor:
    if dtype == "u64":  # PyTorch makes no tensor of numbers past the signed ones
        return torch.tensor([wrapped(v, "i64") for v in values]).view(torch.uint64)
    return torch.tensor(values, dtype=torch_dtype(dtype))


def numbers(found: Tensor) -> list[Any]:
    if found.dtype == torch.uint64:
        return [v & (2**64 - 1) for v in found.view(torch.int64).tolist()]
    return list(found.tolist())


def table(dtype: str) -> tuple[list[int], list[int], list[int]]:
    """Pairs of edges of the dtype, the second never 0, and a count of places to shift by."""
    least = -(1 << (width(dtype) - 1)) if dtype[0] == "i" else 0
    most = least + (1 << width(dtype)) - 1
    edges = [least, least + 1, most, most - 1, most // 2, 1, 2, 3, 7]
    edges += [-1, -2, -7] if dtype[0] == "i" else [most // 2 + 1]
    pairs = [(a, b) for a in (*edges, 0) for b in edges if b]
    places = [n % width(dtype) for n in range(len(pairs))]
    return [a for a, _ in pairs], [b for _, b in pairs], places


def graph_of_all() -> Graph:
    """Every step on every dtype, in one graph so that a back end compiles one."""
    builder = GraphBuilder()
    made = []
    for dtype in DTYPES:
        count = len(table(dtype)[0])
        a, b, n = (builder.input(f"{name}_{dtype}", (count,), dtype) for name in "abn")
        made += [builder.step(kind, a, b) for kind in BINARY]
        made += [builder.step(kind, a) for kind in UNARY]
        made += [builder.step(kind, a, n) for kind in SHIFTS]
        made += [builder.step("compare", a, b, comparison=name) for name in COMPARISONS]
    return builder.graph(tuple(made))


def model_of(graph: Graph) -> LinnetModule:
    return load_program(GraphProgram([graph]), weights={})


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_whole_numbers_wrapped(mode: str) -> None:
    model = model_of(graph_of_all())
    inputs = [tensor(values, dtype) for dtype in DTYPES for values in table(dtype)]
    found = iter(model.run_entry("forward", inputs, compile=MODES[mode]))
    for dtype in DTYPES:
        a, b, n = table(dtype)
        wanted: list[list[Any]] = []
        for kind in BINARY.values():
            wanted.append([wrapped(kind(x, y), dtype) for x, y in zip(a, b, strict=True)])
        for plain in UNARY.values():
            wanted.append([wrapped(plain(x), dtype) for x in a])
        for shift in SHIFTS.values():
            wanted.append([wrapped(shift(x, y), dtype) for x, y in zip(a, n, strict=True)])
        for name in COMPARISONS:
            compare = getattr(operator, name)
            wanted.append([compare(x, y) for x, y in zip(a, b, strict=True)])
        for name, other in zip((*BINARY, *UNARY, *SHIFTS, *COMPARISONS), wanted, strict=True):
            one = numbers(next(found))
            wrong = [t for t in zip(a, b, n, one, other, strict=True) if t[3] != t[4]]
            assert not wrong, f"{dtype} {name}: a, b, places, found, wanted: {wrong[:3]}"


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["div", "rem"])
def test_division_by_zero_is_an_error(kind: str, mode: str) -> None:
    dtypes = ["i32", "i64", "u8", "u32", "u64"]
    builder = GraphBuilder()
    pairs = [[builder.input(f"{name}_{dtype}", (3,), dtype) for name in "ab"] for dtype in dtypes]
    model = model_of(builder.graph(tuple(builder.step(kind, a, b) for a, b in pairs)))
    for bad in (None, *dtypes):
        inputs = []
        for dtype in dtypes:
            divisors = [1, 0, 2] if dtype == bad else [1, 3, 2]
            inputs += [tensor([5, 6, 7], dtype), tensor(divisors, dtype)]
        if bad is None:
            found = model.run_entry("forward", inputs, compile=MODES[mode])
            wanted = [5, 2, 3] if kind == "div" else [0, 0, 1]
            assert [numbers(one) for one in found] == [wanted] * len(dtypes)
            continue
        with pytest.raises((RuntimeError, ZeroDivisionError), match="division by zero"):
            model.run_entry("forward", inputs, compile=MODES[mode])


@pytest.mark.parametrize("mode", [False, None], ids=["interpreted", "generated"])
@pytest.mark.parametrize("divisor", [3, -3, -1])
def test_literal_divisors_follow_the_table(divisor: int, mode: Any) -> None:
    builder = GraphBuilder()
    a, by = builder.input("a", (4,), "i64"), builder.constant(divisor, "i64")
    graph = builder.graph((builder.step("div", a, by), builder.step("rem", a, by)))
    values = [-(2**63), -7, 7, 2**63 - 1]
    quotient, rest = model_of(graph).run_entry("forward", [torch.tensor(values)], compile=mode)
    assert quotient.tolist() == [wrapped(toward_zero(v, divisor), "i64") for v in values]
    assert rest.tolist() == [v - divisor * toward_zero(v, divisor) for v in values]
