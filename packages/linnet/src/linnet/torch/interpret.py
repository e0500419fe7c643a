"""The interpreter: runs a graph step by step, each kind as the graph format says it.

It is the reference for generated source and back ends, so it takes no short cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

import torch
from torch import Tensor

from linnet.graph import Body, Call, Graph, Step
from linnet.graph.kinds import BINARY, SHIFTS, UNARY
from linnet.torch import operations
from linnet.torch.cache_writes import POSITIONS, position_bounds
from linnet.torch.dtypes import LINNET_DTYPES, WIDE_UNSIGNED, torch_dtype


def interpret(
    graph: Graph,
    inputs: Sequence[Tensor],
    parameters: Mapping[str, Tensor],
    states: Mapping[str, Tensor],
    device: torch.device | str = "cpu",
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Runs `graph` and returns its flat results and, by path, the states that it wrote.

    `inputs` are the graph's flat inputs in order; `parameters` holds parameters and buffers by
    path. Nothing is written in place: the caller stores the new states.
    """
    keep = {*graph.results, *(state.result for state in graph.states)}
    known = interpret_values(graph, inputs, parameters, states, device, keep)
    written = {s.path: known[s.result] for s in graph.states if s.result != s.value}
    return [known[number] for number in graph.results], written


def interpret_values(
    graph: Graph,
    inputs: Sequence[Tensor],
    parameters: Mapping[str, Tensor],
    states: Mapping[str, Tensor],
    device: torch.device | str,
    wanted: Set[int],
) -> dict[int, Tensor]:
    """Runs `graph` and returns at least the `wanted` values, by number."""
    known: dict[int, Tensor] = {}
    for item, tensor in zip(graph.inputs, inputs, strict=True):
        known[item.value] = tensor
    for parameter in graph.parameters:
        known[parameter.value] = parameters[parameter.path]
    for state in graph.states:
        known[state.value] = states[state.path]
    for constant in graph.constants:
        dtype = torch_dtype(graph.values[constant.value].dtype)
        known[constant.value] = torch.tensor(constant.literal, dtype=dtype, device=device)
    _Run(graph, torch.device(device)).steps(graph.steps, graph.calls, known, wanted)
    return known


class _Run:
    def __init__(self, graph: Graph, device: torch.device) -> None:
        self.graph = graph
        self.device = device

    def steps(
        self,
        steps: Sequence[Step],
        calls: Sequence[Call],
        known: dict[int, Tensor],
        keep: Set[int],
    ) -> None:
        starting: dict[int, list[Call]] = {}
        replaced: dict[int, Call] = {}
        for call in calls:
            if call.callee in POSITIONS:
                starting.setdefault(call.start, []).append(call)
            if call.gradient is not None and call.stop > call.start:
                replaced.setdefault(call.start, call)
        done = 0
        last: dict[int, int] = {}
        for step in steps:
            last.update((number, step.index) for number in (*step.reads, *step.results))
        for step in steps:
            owner = replaced.get(step.index)
            if step.index < done:
                continue
            if owner is not None and self.trains(owner, known):
                known[owner.results[0]] = self.with_gradient(owner, steps, calls, known)
                done = owner.stop
                continue
            try:
                for call in starting.get(step.index, ()):
                    self.check(call, known)
                results = self.step(step, known)
            except (RuntimeError, IndexError, ZeroDivisionError) as error:
                raised = IndexError if isinstance(error, IndexError) else RuntimeError
                raise raised(f"{place(self.graph, step)}: {error}") from error
            known.update(zip(step.results, results, strict=True))
            for number in (*step.reads, *step.results):
                made = self.graph.values[number].origin == "step"
                if made and last[number] == step.index and number not in keep:
                    known.pop(number, None)

    def trains(self, call: Call, known: Mapping[int, Tensor]) -> bool:
        """Whether an argument of a call takes a gradient."""
        return torch.is_grad_enabled() and any(known[n].requires_grad for n in call.operands)

    def with_gradient(
        self,
        call: Call,
        steps: Sequence[Step],
        calls: Sequence[Call],
        known: Mapping[int, Tensor],
    ) -> Tensor:
        """A call of an op whose `grad` clause gives its gradients."""
        body, own = call.gradient, steps[call.start : call.stop]
        assert body is not None
        outside = dict(known)

        def forward() -> Tensor:
            inner = dict(outside)
            self.steps(own, [c for c in calls if c.index != call.index], inner, {*call.results})
            return inner[call.results[0]]

        def backward(*given: Tensor) -> list[Tensor]:
            return self.body(body, given, outside)

        operands = [known[n] for n in call.operands]
        return operations.with_gradient(forward, backward, *operands)

    def check(self, call: Call, known: Mapping[int, Tensor]) -> None:
        """IndexError where a write would go outside its cache."""
        for bound in position_bounds(self.graph, call):
            name = self.graph.values[bound.value].name or "a position"
            operations.check_positions(name, known[bound.value], bound.greatest)

    def step(self, step: Step, known: dict[int, Tensor]) -> list[Tensor]:
        if step.kind == "state_write":
            return []
        operands = [known[number] for number in step.operands]
        if step.bodies:
            return self.control(step, operands, known)
        return [self.compute(step, operands)]

    def body(
        self, body: Body, inputs: Sequence[Tensor], known: Mapping[int, Tensor]
    ) -> list[Tensor]:
        inner = {**known, **dict(zip(body.inputs, inputs, strict=True))}
        keep = {*known, *body.outputs}
        self.steps(body.steps, body.calls, inner, keep)
        return [inner[number] for number in body.outputs]

    def control(
        self, step: Step, operands: list[Tensor], known: Mapping[int, Tensor]
    ) -> list[Tensor]:
        if step.kind == "if":
            return self.body(step.bodies[0 if bool(operands[0]) else 1], [], known)
        if step.kind == "while":
            condition, advance = step.bodies
            while bool(self.body(condition, operands, known)[0]):
                operands = self.body(advance, operands, known)
            return operands
        start, stop = step.attributes["start"], step.attributes["stop"]
        yields: list[list[Tensor]] = [[] for _ in step.results[len(operands) :]]
        for i in range(start, stop):
            counter = torch.tensor(i, dtype=torch.int64, device=self.device)
            outputs = self.body(step.bodies[0], [counter, *operands], known)
            operands = outputs[: len(operands)]
            for kept, output in zip(yields, outputs[len(operands) :], strict=True):
                kept.append(output)
        stacked = []
        for number, kept in zip(step.results[len(operands) :], yields, strict=True):
            value = self.graph.values[number]
            empty = torch.empty(value.shape, dtype=torch_dtype(value.dtype), device=self.device)
            stacked.append(torch.stack(kept) if kept else empty)
        return [*operands, *stacked]

    def compute(self, step: Step, operands: list[Tensor]) -> Tensor:
        value = self.graph.values[step.results[0]]
        kind, attributes = step.kind, step.attributes
        wide = bool(operands) and LINNET_DTYPES[operands[-1].dtype] in WIDE_UNSIGNED
        if kind == "compare":
            comparison = attributes["comparison"]
            if wide:
                return operations.unsigned(comparison, *operands)
            return operations.SIGNED[comparison](*operands)
        if kind in _ARITHMETIC:
            if wide and kind in (*BINARY, *SHIFTS, *UNARY):
                return operations.unsigned(kind, *operands)
            return _ARITHMETIC[kind](*operands)
        if kind == "cast":
            return operands[0].to(torch_dtype(value.dtype))
        if kind == "reshape":
            return operands[0].reshape(value.shape)
        if kind == "permute":
            return operands[0].permute(attributes["axes"])
        if kind in ("broadcast", "fill"):
            return operands[0].expand(value.shape)
        if kind == "slice":
            bounds = (attributes[name] for name in ("starts", "stops", "steps"))
            return operands[0][tuple(slice(*bound) for bound in zip(*bounds, strict=True))]
        if kind == "concat":
            return torch.cat(operands, dim=attributes["axis"])
        if kind == "iota":
            wide_range = torch.arange(value.shape[0], dtype=torch.int64, device=self.device)
            return wide_range.to(torch_dtype(value.dtype))
        if kind == "cumsum":
            if wide:
                return operations.unsigned_cumsum(operands[0], attributes["axis"])
            return operands[0].cumsum(dim=attributes["axis"], dtype=operands[0].dtype)
        if kind == "element":
            return operations.element(operands[0], attributes["axes"], *operands[1:])
        if kind == "reduce":
            return reduce(operands[0], attributes["reduction"], attributes["axes"])
        assert kind == "contract", kind
        return self.contract(step, operands)

    def contract(self, step: Step, operands: list[Tensor]) -> Tensor:
        a, b = operands
        labels = step.attributes["inputs"]
        output = step.attributes["output"]
        value = self.graph.values[step.results[0]]
        if value.dtype in WIDE_UNSIGNED:
            a, b = operations.signed_bits(a), operations.signed_bits(b)
            result = torch.einsum(a, labels[0], b, labels[1], output)
            return result.to(torch_dtype(value.dtype))
        return torch.einsum(a, labels[0], b, labels[1], output)


def reduce(source: Tensor, reduction: str, axes: Sequence[int]) -> Tensor:
    """A `reduce` step; over no elements it gives what the graph format says."""
    others = [size for axis, size in enumerate(source.shape) if axis not in axes]
    empty = any(source.shape[axis] == 0 for axis in axes)
    if not axes:
        return source
    if reduction in ("max", "min") and empty:
        fill = operations.extreme(source.dtype, least=reduction == "max")
        return torch.full(others, fill, dtype=source.dtype, device=source.device)
    if LINNET_DTYPES[source.dtype] in WIDE_UNSIGNED:
        return operations.unsigned_reduce(reduction, source, axes)
    if reduction == "sum":
        return source.sum(dim=list(axes), dtype=source.dtype)
    if reduction == "prod":
        return operations.product(source, axes)
    if reduction in ("any", "all"):
        return (torch.any if reduction == "any" else torch.all)(source, dim=list(axes))
    return (source.amax if reduction == "max" else source.amin)(dim=list(axes))


def place(graph: Graph, step: Step) -> str:
    """Where a step comes from, for messages."""
    if step.span is None:
        return f"{graph.module}::{graph.entry}, step {step.index} ({step.kind})"
    return f"{step.span.file}:{step.span.line}:{step.span.column}: {step.kind}"


def _divide(a: Tensor, b: Tensor) -> Tensor:
    return a / b if a.is_floating_point() else operations.divide(a, b)


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    return torch.fmod(a, b) if a.is_floating_point() else operations.remainder(a, b)


_ARITHMETIC: dict[str, Callable[..., Tensor]] = {
    **operations.SIGNED,
    "div": _divide,
    "rem": _remainder,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "not": torch.logical_not,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "select": torch.where,
}
