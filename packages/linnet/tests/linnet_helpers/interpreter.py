"""Runs graphs with NumPy, one step at a time: the meaning of docs/linnet/graph-format.md."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linnet.graph import Body, Graph, Step, verify
from linnet.graph.kinds import UNARY

NUMPY = {
    "bool": np.bool_,
    "bf16": np.float32,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"{sign}{bits}": f"{sign}{bits // 8}" for sign in "iu" for bits in (8, 16, 32, 64)},
}

COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
TWO = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "rem": np.fmod,
}
REDUCE = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
}


class Interpreter:
    """Holds the values of one run."""

    def __init__(self, graph: Graph) -> None:
        verify(graph)
        self.graph = graph
        self.values: dict[int, Any] = {}

    def run(self, inputs: dict[str, Any], weights: dict[str, Any], states: dict[str, Any]) -> Any:
        """The result as a tree of arrays; `states` is updated after the last step."""
        graph = self.graph
        for one in graph.inputs:
            value = graph.values[one.value]
            self.values[one.value] = np.asarray(inputs[one.name], NUMPY[value.dtype]).reshape(
                value.shape
            )
        for parameter in graph.parameters:
            self.values[parameter.value] = np.asarray(
                weights[parameter.path], NUMPY[parameter.dtype]
            ).reshape(parameter.shape)
        for state in graph.states:
            zero = np.zeros(state.shape, NUMPY[state.dtype])
            self.values[state.value] = states.get(state.path, zero)
        for constant in graph.constants:
            dtype = graph.values[constant.value].dtype
            self.values[constant.value] = np.asarray(constant.literal, NUMPY[dtype])
        written: dict[str, Any] = {}
        with np.errstate(all="ignore"):
            self.steps(graph.steps, written)
        for state in graph.states:
            assert np.array_equal(
                self.values[state.result], written.get(state.path, self.values[state.result])
            )
            states[state.path] = self.values[state.result]
        return self.tree(graph.result)

    def tree(self, tree: Any) -> Any:
        if tree is None:
            return None
        if isinstance(tree, int):
            return self.values[tree]
        if isinstance(tree, dict):
            return {name: self.tree(part) for name, part in tree.items()}
        return tuple(self.tree(part) for part in tree)

    def steps(self, steps: tuple[Step, ...], written: dict[str, Any]) -> None:
        for step in steps:
            operands = [self.values[n] for n in step.operands]
            if step.kind == "state_write":
                written[step.attributes["state"]] = operands[0]
                continue
            if step.kind in ("if", "while", "scan"):
                found = getattr(self, step.kind + "_")(step, operands)
            else:
                found = [self.one(step, operands)]
            for number, value in zip(step.results, found, strict=True):
                kind = self.graph.values[number]
                value = np.asarray(value)
                assert value.shape == kind.shape, (step, value.shape, kind)
                self.values[number] = value.astype(NUMPY[kind.dtype])

    def body(self, body: Body, inputs: list[Any]) -> list[Any]:
        for number, value in zip(body.inputs, inputs, strict=True):
            self.values[number] = value
        self.steps(body.steps, {})
        return [self.values[n] for n in body.outputs]

    def if_(self, step: Step, operands: list[Any]) -> list[Any]:
        return self.body(step.bodies[0 if operands[0] else 1], [])

    def while_(self, step: Step, operands: list[Any]) -> list[Any]:
        while self.body(step.bodies[0], operands)[0]:
            operands = self.body(step.bodies[1], operands)
        return operands

    def scan_(self, step: Step, operands: list[Any]) -> list[Any]:
        rows: list[list[Any]] = []
        for i in range(step.attributes["start"], step.attributes["stop"]):
            found = self.body(step.bodies[0], [np.asarray(i, np.int64), *operands])
            operands = found[: len(operands)]
            rows.append(found[len(operands) :])
        kinds = [self.graph.values[n] for n in step.results[len(operands) :]]
        columns = [
            np.stack([row[k] for row in rows]) if rows else np.zeros(kind.shape)
            for k, kind in enumerate(kinds)
        ]
        return [*operands, *columns]

    def one(self, step: Step, operands: list[Any]) -> Any:
        kind, attributes = step.kind, step.attributes
        result = self.graph.values[step.results[0]]
        if kind in TWO:
            return TWO[kind](*operands)
        if kind == "div":
            a, b = operands
            return np.trunc(a / b) if a.dtype.kind in "iu" else a / b
        if kind == "compare":
            return COMPARE[attributes["comparison"]](*operands)
        if kind == "not":
            return np.logical_not(operands[0])
        if kind in UNARY:
            names = {"neg": "negative", "rsqrt": "sqrt", "abs": "absolute"}
            found = getattr(np, names.get(kind, kind))(operands[0])
            return 1 / found if kind == "rsqrt" else found
        if kind == "cast":
            return operands[0].astype(NUMPY[result.dtype])
        if kind == "select":
            return np.where(*operands)
        if kind == "reshape":
            return operands[0].reshape(result.shape)
        if kind == "permute":
            return operands[0].transpose(attributes["axes"])
        if kind in ("broadcast", "fill"):
            return np.broadcast_to(operands[0], result.shape)
        if kind == "slice":
            rows = zip(attributes["starts"], attributes["stops"], attributes["steps"], strict=True)
            return operands[0][tuple(slice(a, b, s) for a, b, s in rows)]
        if kind == "concat":
            return np.concatenate(operands, axis=attributes["axis"])
        if kind == "iota":
            return np.arange(result.shape[0])
        if kind == "cumsum":
            return np.cumsum(operands[0], axis=attributes["axis"])
        if kind == "element":
            return self.element(operands[0], operands[1:], attributes["axes"])
        if kind == "reduce":
            source = operands[0]
            if math.prod(source.shape[a] for a in attributes["axes"]) == 0:
                assert attributes["reduction"] in ("sum", "prod", "any", "all")
            return REDUCE[attributes["reduction"]](source, axis=tuple(attributes["axes"]))
        assert kind == "contract", kind
        letters = "abcdefghijklmnopqrstuvwxyz"
        left, right = ["".join(letters[k] for k in labels) for labels in attributes["inputs"]]
        output = "".join(letters[k] for k in attributes["output"])
        return np.einsum(f"{left},{right}->{output}", *operands)

    def element(self, source: Any, positions: list[Any], axes: tuple[int, ...]) -> Any:
        for place, axis in zip(positions, axes, strict=True):
            assert np.all((place >= 0) & (place < source.shape[axis])), "position out of range"
        rest = [a for a in range(source.ndim) if a not in axes]
        return source.transpose([*axes, *rest])[tuple(np.broadcast_arrays(*positions))]


def run(
    graph: Graph,
    inputs: dict[str, Any] | None = None,
    weights: dict[str, Any] | None = None,
    states: dict[str, Any] | None = None,
) -> Any:
    """Runs a graph once."""
    return Interpreter(graph).run(inputs or {}, weights or {}, states if states is not None else {})
