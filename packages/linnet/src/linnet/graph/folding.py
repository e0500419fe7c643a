"""What a graph computes from literals alone: scalars such as 1 / sqrt(64), and tables."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.graph.model import Graph

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "cast": lambda a: a,
}


def fold(graph: Graph, number: int) -> bool | int | float | None:
    """The number of a scalar that is a literal, or is computed from literals in f32 or f64 and
    rounded at each step as there; None for any other value, and where the number does not exist
    (the logarithm of a negative one).
    """
    literal = graph.literal(number)
    if literal is not None:
        return literal
    value, step = graph.values[number], graph.producers.get(number)
    if step is None or value.shape or value.dtype not in ("f32", "f64"):
        return None
    function = _FUNCTIONS.get(step.kind)
    operands = [fold(graph, operand) for operand in step.operands]
    if function is None or any(operand is None for operand in operands):
        return None
    try:
        result = float(function(*operands))
        return struct.unpack("<f", struct.pack("<f", result))[0] if value.dtype == "f32" else result
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def literal_steps(graph: Graph, among: Iterable[int] | None = None) -> frozenset[int]:
    """Positions of the steps that depend on nothing but literals and each other: of all steps, or
    of those at the positions `among`.
    """
    known = {value.number for value in graph.values if value.origin == "constant"}
    allowed = None if among is None else frozenset(among)
    found = set()
    for step in graph.steps:
        if allowed is not None and step.index not in allowed:
            continue
        if step.kind != "state_write" and known.issuperset(step.reads):
            known.update(step.results)
            found.add(step.index)
    return frozenset(found)
