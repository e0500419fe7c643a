"""Graphs made by hand, to try a back end or a runtime on without a source file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from linnet.graph import (
    KINDS,
    Argument,
    Body,
    Call,
    Constant,
    Graph,
    Input,
    Parameter,
    SourceSpan,
    State,
    Step,
    Tree,
    Value,
    verify,
)
from linnet.graph.kinds import ELEMENTWISE
from linnet.graph.verify import broadcast_shapes


@dataclass
class OpenCall:
    """A call whose steps are being made; set `result` before its `with` block ends."""

    result: Tree = None


class GraphBuilder:
    """Makes a graph value by value and step by step; `graph` verifies it.

    Methods return value numbers. Shapes and dtypes of elementwise steps follow from their
    operands; other steps take `shape`, and `dtype` where it differs from the first operand's.
    """

    def __init__(self, module: str = "demo", entry: str = "forward", root: str = "Model") -> None:
        self.module = module
        self.entry = entry
        self.root = root
        self._values: list[Value] = []
        self._inputs: list[Input] = []
        self._parameters: list[Parameter] = []
        self._states: dict[str, State] = {}
        self._constants: list[Constant] = []
        self._calls: list[Call] = []
        self._steps: list[Step] = []
        self._lines = 0
        self._open: list[int] = []

    def _value(self, shape: Sequence[int], dtype: str, origin: str, name: str = "") -> int:
        self._values.append(Value(len(self._values), tuple(shape), dtype, origin, name))
        return len(self._values) - 1

    def input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> int:
        """A flat input of the entry."""
        number = self._value(shape, dtype, "input", name)
        self._inputs.append(Input(name, number))
        return number

    def parameter(
        self, path: str, shape: Sequence[int], dtype: str = "f32", kind: str = "param"
    ) -> int:
        """A parameter, or with `kind="buffer"` a buffer; each path once."""
        known = [p.value for p in self._parameters if p.path == path]
        if known:
            return known[0]
        origin = "parameter" if kind == "param" else "buffer"
        number = self._value(shape, dtype, origin, path.rsplit(".", 1)[-1])
        self._parameters.append(Parameter(path, number, kind, tuple(shape), dtype))
        return number

    def state(self, path: str, shape: Sequence[int], dtype: str = "f32") -> int:
        """A state's content before the entry."""
        number = self._value(shape, dtype, "state", path.rsplit(".", 1)[-1])
        self._states[path] = State(path, number, number, tuple(shape), dtype)
        return number

    def constant(self, literal: bool | int | float, dtype: str = "f32") -> int:
        """A scalar that is known."""
        number = self._value((), dtype, "constant")
        self._constants.append(Constant(number, literal))
        return number

    def step(
        self,
        kind: str,
        *operands: int,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        name: str = "",
        **attributes: Any,
    ) -> int:
        """A step of one result."""
        values = [self._values[number] for number in operands]
        if shape is None and kind in ELEMENTWISE:
            shape = broadcast_shapes(*(value.shape for value in values))
        if shape is None:
            raise ValueError(f"GraphBuilder: a {kind} step of these operands needs `shape`")
        if dtype is None:
            dtype = "bool" if kind == "compare" else values[-1 if kind == "select" else 0].dtype
        number = self._value(shape, dtype, "step", name)
        self._append(kind, operands, (number,), attributes)
        return number

    def control(
        self, kind: str, operands: Sequence[int], bodies: Sequence[Body], **attributes: Any
    ) -> tuple[int, ...]:
        """A step with bodies (`nested` makes them); returns its results."""
        shapes = [(self._values[n].shape, self._values[n].dtype) for n in operands]
        if kind == "if":
            shapes = [(self._values[n].shape, self._values[n].dtype) for n in bodies[0].outputs]
        elif kind == "scan":
            trips = attributes["stop"] - attributes["start"]
            extra = [self._values[n] for n in bodies[0].outputs[len(operands) :]]
            shapes += [((trips, *value.shape), value.dtype) for value in extra]
        results = tuple(self._value(shape, dtype, "step") for shape, dtype in shapes)
        self._append(kind, operands, results, attributes, tuple(bodies))
        return results

    @contextmanager
    def nested(self, *inputs: tuple[Sequence[int], str]) -> Iterator[tuple[list[int], list[int]]]:
        """Steps made inside go to a body; gives its inputs, and a list to put its outputs in.
        Afterwards `body()` returns it.
        """
        outer, self._steps = self._steps, []
        numbers = [self._value(shape, dtype, "body") for shape, dtype in inputs]
        outputs: list[int] = []
        try:
            yield numbers, outputs
        finally:
            self._body = Body(tuple(numbers), tuple(self._steps), tuple(outputs))
            self._steps = outer

    def body(self) -> Body:
        """The body that the latest `nested` made."""
        return self._body

    def write(self, path: str, number: int) -> None:
        """Assigns a state."""
        state = self._states[path]
        self._states[path] = State(path, state.value, number, state.shape, state.dtype)
        self._append("state_write", (number,), (), {"state": path})

    @contextmanager
    def call(
        self, callee: str, path: str = "", kind: str = "op", **arguments: Tree
    ) -> Iterator[OpenCall]:
        """The steps made inside are marked as a call."""
        position, start = len(self._calls), len(self._steps)
        parent = self._open[-1] if self._open else None
        listed = tuple(Argument(name, value) for name, value in arguments.items())
        mark = Call(position, callee, kind, path, start, start, {}, listed, None, parent)
        self._calls.append(mark)
        self._open.append(position)
        opened = OpenCall()
        try:
            yield opened
        finally:
            self._open.pop()
        self._calls[position] = replace(mark, stop=len(self._steps), result=opened.result)

    def linear(self, x: int, w: int, bias: int | None = None) -> int:
        """A call of `std.nn.linear::linear`, with its body."""
        rows = self._values[x].shape[:-1]
        out = self._values[w].shape[0]
        labels = list(range(len(rows)))
        k, o = len(rows), len(rows) + 1
        with self.call("std.nn.linear::linear", x=x, weight=w, bias=bias) as call:
            inputs = ((*labels, k), (o, k))
            y = self.step("contract", x, w, shape=(*rows, out), inputs=inputs, output=(*labels, o))
            call.result = y if bias is None else self.step("add", y, bias)
        assert isinstance(call.result, int)
        return call.result

    def rms_norm(self, x: int, w: int, eps: float = 1e-5) -> int:
        """A call of `std.nn.norm::rms_norm`, with its body."""
        value = self._values[x]
        *rows, size = value.shape
        epsilon = self.constant(eps)
        with self.call("std.nn.norm::rms_norm", x=x, weight=w, eps=epsilon) as call:
            wide = self.step("cast", x, dtype="f32")
            square = self.step("mul", wide, wide)
            axes = (len(rows),)
            total = self.step("reduce", square, shape=rows, reduction="sum", axes=axes)
            mean = self.step("div", total, self.constant(float(size)))
            scale = self.step("rsqrt", self.step("add", mean, epsilon))
            scale = self.step("reshape", scale, shape=(*rows, 1))
            normal = self.step("cast", self.step("mul", wide, scale), dtype=value.dtype)
            call.result = self.step("mul", normal, w)
        return call.result

    def graph(self, result: Tree, entry_generics: Mapping[str, Any] | None = None) -> Graph:
        """The graph, verified."""
        made = Graph(
            module=self.module,
            root=self.root,
            entry=self.entry,
            generics={},
            entry_generics=dict(entry_generics or {}),
            values=tuple(self._values),
            inputs=tuple(self._inputs),
            result=result,
            parameters=tuple(self._parameters),
            states=tuple(self._states.values()),
            constants=tuple(self._constants),
            steps=tuple(self._steps),
            calls=tuple(self._calls),
        )
        verify(made)
        return made

    def _append(
        self,
        kind: str,
        operands: Sequence[int],
        results: tuple[int, ...],
        attributes: Mapping[str, Any],
        bodies: tuple[Body, ...] = (),
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"GraphBuilder: there is no step kind {kind!r}")
        self._lines += 1
        span = SourceSpan(f"{self.module}.linnet", self._lines, 5, self._lines, 20)
        step = Step(
            len(self._steps), kind, tuple(operands), results, dict(attributes), span, bodies
        )
        self._steps.append(step)


def two_layer_graph(
    rows: int = 3, width: int = 8, hidden: int = 16, dtype: str = "f32", joined: bool = False
) -> Graph:
    """Two layers of `x + down(up(rms_norm(x)))`; with `joined`, up is the sum of two products of
    one input.
    """
    builder = GraphBuilder("two_layer")
    x = builder.input("x", (rows, width), dtype)
    for layer in range(2):
        path = f"layers.{layer}"
        normal = builder.rms_norm(x, builder.parameter(f"{path}.norm.weight", (width,), dtype))
        up = builder.linear(normal, builder.parameter(f"{path}.up.weight", (hidden, width), dtype))
        if joined:
            gate = builder.parameter(f"{path}.gate.weight", (hidden, width), dtype)
            up = builder.step("add", up, builder.linear(normal, gate))
        down = builder.parameter(f"{path}.down.weight", (width, hidden), dtype)
        x = builder.step("add", x, builder.linear(up, down))
    return builder.graph(x)
