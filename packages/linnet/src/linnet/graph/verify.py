"""Checks a graph against the format: numbering, shapes and dtypes of every step."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from linnet.graph.kinds import (
    BINARY,
    BITWISE,
    COMPARISONS,
    KINDS,
    REDUCTIONS,
    SHIFTS,
    UNARY,
)
from linnet.graph.model import DTYPES, Body, Call, Graph, Step, Value, leaves

ORIGINS = ("input", "parameter", "buffer", "state", "constant", "step", "body")
FLOATS = ("f16", "bf16", "f32", "f64")


def verify(graph: Graph) -> None:
    """Raises ValueError naming the first step, value or call that breaks the format."""
    _Verifier(graph).run()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that all broadcast to with axes aligned on the right, or None if they do not."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if -axis <= len(shape)} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


class _Verifier:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made: set[int] = set()

    def run(self) -> None:
        for number, value in enumerate(self.graph.values):
            where = f"value {number}"
            self.need(value.number == number, where, f"is numbered {value.number}")
            self.need(value.dtype in DTYPES, where, f"has the unknown dtype {value.dtype!r}")
            self.need(value.origin in ORIGINS, where, f"has the unknown origin {value.origin!r}")
            self.need(all(size >= 0 for size in value.shape), where, "has a negative size")
        self.made.update(item.value for item in self.graph.inputs)
        self.made.update(item.value for item in self.graph.parameters)
        self.made.update(item.value for item in self.graph.states)
        self.made.update(item.value for item in self.graph.constants)
        self.steps(self.graph.steps, "")
        self.calls(self.graph.calls, len(self.graph.steps), "")
        for number in self.graph.results:
            self.need(number in self.made, "result", f"reads value {number} before it is made")
        for state in self.graph.states:
            self.need(state.result in self.made, f"state {state.path}", "ends as an unmade value")
            self.need(
                self.graph.values[state.result].shape == state.shape,
                f"state {state.path}",
                "ends with another shape",
            )

    def need(self, holds: bool, where: str, what: str) -> None:
        if not holds:
            raise ValueError(f"graph of {self.graph.module}::{self.graph.entry}: {where} {what}")

    def steps(self, steps: Sequence[Step], within: str) -> None:
        for position, step in enumerate(steps):
            where = f"{within}step {position} ({step.kind})"
            self.need(step.index == position, where, f"has the index {step.index}")
            kind = KINDS.get(step.kind)
            self.need(kind is not None, where, "is of an unknown kind")
            assert kind is not None
            if kind.operands is not None:
                count = len(step.operands)
                self.need(count == kind.operands, where, f"has {count} operands")
            for name in kind.attributes:
                self.need(name in step.attributes, where, f"lacks the attribute {name!r}")
            self.need(len(step.bodies) == kind.bodies, where, f"has {len(step.bodies)} bodies")
            for number in step.operands:
                self.need(number in self.made, where, f"reads value {number} before it is made")
            for body in step.bodies:
                self.body(body, f"{where}: ")
            for number in step.results:
                self.need(number not in self.made, where, f"makes value {number} again")
                self.need(
                    self.graph.values[number].origin == "step", where, "makes a non-step value"
                )
            operands = [self.graph.values[number] for number in step.operands]
            results = [self.graph.values[number] for number in step.results]
            wrong = check_step(step, operands, results, self.graph.values)
            self.need(wrong is None, where, wrong or "")
            self.made.update(step.results)

    def body(self, body: Body, within: str) -> None:
        outer = set(self.made)
        self.made.update(body.inputs)
        self.steps(body.steps, within)
        self.calls(body.calls, len(body.steps), within)
        for number in body.outputs:
            self.need(number in self.made, f"{within}output", f"{number} is not made in the body")
        self.made = outer

    def calls(self, calls: Sequence[Call], count: int, within: str) -> None:
        for position, call in enumerate(calls):
            where = f"{within}call {position} ({call.callee})"
            self.need(call.index == position, where, f"has the index {call.index}")
            self.need(0 <= call.start <= call.stop <= count, where, "lies outside the steps")
            for number in (*call.operands, *leaves(call.result)):
                self.need(number < len(self.graph.values), where, f"names no value: {number}")
            if call.parent is not None:
                self.need(call.parent < position, where, "comes before the call around it")
                outer = calls[call.parent]
                self.need(
                    outer.start <= call.start and call.stop <= outer.stop,
                    where,
                    "reaches out of the call around it",
                )


def check_step(
    step: Step, operands: Sequence[Value], results: Sequence[Value], values: Sequence[Value]
) -> str | None:
    """What is wrong with the shapes or dtypes of a step, or None."""
    kind = step.kind
    if kind == "state_write":
        return None if not results else "has a result"
    if kind in ("if", "while", "scan"):
        return _control(step, operands, results, values)
    if len(results) != 1:
        return f"has {len(results)} results"
    shapes = [value.shape for value in operands]
    dtypes = [value.dtype for value in operands]
    if kind == "select":
        if dtypes[0] != "bool":
            return "chooses by a value that is not bool"
        dtypes = dtypes[1:]
    if kind in (*UNARY, *BINARY, *BITWISE, *SHIFTS, "compare", "not", "select"):
        if len(set(dtypes)) != 1:
            return f"mixes the dtypes {', '.join(dtypes)}"
        expected = "bool" if kind == "compare" else dtypes[0]
        shape = broadcast_shapes(*shapes)
    else:
        expected, shape = _movement(step, shapes, dtypes, results[0])
    if kind == "compare" and step.attributes["comparison"] not in COMPARISONS:
        return f"has the unknown comparison {step.attributes['comparison']!r}"
    if shape is None:
        return f"cannot combine shapes {', '.join(map(str, shapes))}"
    if (shape, expected) != (results[0].shape, results[0].dtype):
        return f"makes {expected}{list(shape)}, not {results[0].dtype}{list(results[0].shape)}"
    return None


def _movement(
    step: Step, shapes: list[tuple[int, ...]], dtypes: list[str], result: Value
) -> tuple[str, tuple[int, ...] | None]:
    """The dtype and shape that a step which is not elementwise makes; None for a wrong shape."""
    kind = step.kind
    if kind == "iota":
        return result.dtype, result.shape if len(result.shape) == 1 else None
    source, dtype = shapes[0], dtypes[0]
    shape: tuple[int, ...] | None = None
    if kind == "cast":
        return result.dtype, source
    if kind == "fill":
        shape = result.shape if source == () else None
    elif kind == "reshape":
        shape = result.shape if prod(source) == prod(result.shape) else None
    elif kind == "broadcast":
        fits = broadcast_shapes(source, result.shape) == result.shape
        shape = result.shape if fits else None
    elif kind == "permute":
        axes = step.attributes["axes"]
        if sorted(axes) == list(range(len(source))):
            shape = tuple(source[axis] for axis in axes)
    elif kind == "slice":
        ranges = zip(
            step.attributes["starts"],
            step.attributes["stops"],
            step.attributes["steps"],
            source,
            strict=True,
        )
        shape = tuple(len(range(a, min(b, size), s)) for a, b, s, size in ranges)
    elif kind == "concat":
        axis = step.attributes["axis"]
        rest = {(s[:axis], s[axis + 1 :]) for s in shapes}
        if len(rest) == 1 and len(set(dtypes)) == 1:
            total = sum(s[axis] for s in shapes)
            shape = (*source[:axis], total, *source[axis + 1 :])
    elif kind == "cumsum":
        shape = source if 0 <= step.attributes["axis"] < len(source) else None
    elif kind == "element":
        axes = step.attributes["axes"]
        positions = broadcast_shapes(*shapes[1:])
        integers = all(d[0] in "iu" for d in dtypes[1:])
        if len(axes) == len(shapes) - 1 and positions is not None and integers:
            shape = positions + tuple(s for axis, s in enumerate(source) if axis not in axes)
    elif kind == "reduce":
        axes = step.attributes["axes"]
        if step.attributes["reduction"] in REDUCTIONS:
            shape = tuple(s for axis, s in enumerate(source) if axis not in axes)
    elif kind == "contract":
        sizes: dict[int, int] = {}
        for labels, sizes_of in zip(step.attributes["inputs"], shapes, strict=True):
            for label, size in zip(labels, sizes_of, strict=True):
                if sizes.setdefault(label, size) != size:
                    return dtype, None
        if len(set(dtypes)) == 1:
            shape = tuple(sizes[label] for label in step.attributes["output"])
    return dtype, shape


def _control(
    step: Step, operands: Sequence[Value], results: Sequence[Value], values: Sequence[Value]
) -> str | None:
    """Checks that nested bodies take and give what their step does."""

    def kinds(numbers: Sequence[int]) -> list[tuple[tuple[int, ...], str]]:
        return [(values[number].shape, values[number].dtype) for number in numbers]

    made = [(value.shape, value.dtype) for value in results]
    given = [(value.shape, value.dtype) for value in operands]
    if step.kind == "if":
        if given != [((), "bool")]:
            return "does not choose by one scalar bool"
        return None if all(kinds(body.outputs) == made for body in step.bodies) else "arms differ"
    if step.kind == "while":
        condition, body = step.bodies
        if kinds(condition.outputs) != [((), "bool")]:
            return "has a condition that is not one scalar bool"
        ends = [kinds(condition.inputs), kinds(body.inputs), kinds(body.outputs), made]
        return None if all(end == given for end in ends) else "changes the kind of a carried value"
    (body,) = step.bodies
    trips = step.attributes["stop"] - step.attributes["start"]
    if kinds(body.inputs) != [((), "i64"), *given]:
        return "does not give its body the counter and the carried values"
    outputs = kinds(body.outputs)
    stacked = [((trips, *shape), dtype) for shape, dtype in outputs[len(given) :]]
    if outputs[: len(given)] != given or made != given + stacked:
        return "changes the kind of a carried value or stacks wrongly"
    return None
