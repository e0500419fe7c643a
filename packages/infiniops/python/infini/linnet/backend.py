"""The back end: regions of a Linnet graph that one InfiniOps operator computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import infini.ops
from infini.linnet.recorder import GraphRecorder, recording_stream
from infini.linnet.table import Argument, Mapped, read_table
from linnet.backends import (
    Capabilities,
    Context,
    Cost,
    ExecutableMeta,
    Options,
    Region,
    Target,
)
from linnet.graph import Graph

if TYPE_CHECKING:
    from torch import Tensor

#: PyTorch's device types, by InfiniRT's names of what they are.
DEVICES = {"cpu": "cpu"}


class InfiniOps:
    """Runs the ops and steps that operators of this InfiniOps build compute, on the CPU.

    A region is one op's call or one step. Results differ from the generated source within the
    operators' tolerances: `rms_norm`, for one, rounds once, after the weight.
    """

    name = "infiniops"
    contract = 1

    def __init__(self) -> None:
        self.version = infini.ops.__version__
        table = read_table(infini.ops.operators_json())
        self._ops = {mapped.op: mapped for mapped in table if mapped.op is not None}
        self._steps = {mapped.step: mapped for mapped in table if mapped.step is not None}

    def probe(self, target: Target) -> Capabilities | None:
        """The CPU, if this build has kernels for it."""
        device = DEVICES.get(target.kind)
        mapped = (*self._ops.values(), *self._steps.values())
        return Capabilities() if any(device in one.devices for one in mapped) else None

    def match(self, graph: Graph, target: Target) -> Iterator[Region]:
        """Calls of mapped ops, and mapped steps outside them."""
        device = DEVICES[target.kind]
        taken: set[int] = set()
        for call in graph.calls:
            mapped = self._ops.get(call.callee) if call.kind == "op" else None
            if mapped is None or device not in mapped.devices or call.start == call.stop:
                continue
            region = Region.of(graph, call.start, call.stop, call.index)
            if call_of(graph, region, mapped) is not None:
                taken.update(region.steps)
                yield region
        for step in graph.steps:
            mapped = self._steps.get(step.kind)
            if mapped is None or device not in mapped.devices or step.index in taken:
                continue
            region = Region.of(graph, step.index, step.index + 1)
            if call_of(graph, region, mapped) is not None:
                yield region

    def compile(self, region: Region, target: Target, options: Options) -> OperatorCall:
        """The operator's call with its arguments found."""
        if region.call is not None:
            mapped = self._ops.get(region.graph.calls[region.call].callee)
        else:
            mapped = self._steps.get(region.graph.steps[region.start].kind)
        call = None if mapped is None else call_of(region.graph, region, mapped)
        if call is None:
            raise ValueError(f"infiniops: no operator computes this region ({region.steps})")
        return call

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """Nothing is known without running."""
        return None

    def recorder(self, target: Target) -> GraphRecorder | None:
        """Records on the CPU."""
        device = DEVICES.get(target.kind)
        return None if device is None else GraphRecorder(device)


@dataclass(frozen=True)
class FromInput:
    """A tensor argument that is one of the region's inputs."""

    position: int


@dataclass(frozen=True)
class FromPath:
    """A tensor argument that is a parameter, buffer or state."""

    path: str


class OperatorCall:
    """An executable: one call of one operator."""

    def __init__(
        self,
        operator: str,
        tensors: Mapping[str, FromInput | FromPath],
        attributes: Mapping[str, Any],
        states_read: tuple[str, ...],
    ) -> None:
        self.meta = ExecutableMeta(states_read=states_read)
        self._function: Callable[..., Any] = getattr(infini.ops, operator)
        self._tensors = tuple(tensors.items())
        self._attributes = dict(attributes)

    def prepare(self, context: Context) -> None:
        """Nothing: weights are read where they are."""

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> list[Tensor]:
        """Calls the operator, on the recording's stream while this thread records."""
        tensors = {
            name: inputs[source.position]
            if isinstance(source, FromInput)
            else context.parameters[source.path].detach()
            for name, source in self._tensors
        }
        stream = recording_stream()
        return [self._function(**tensors, **self._attributes, out=outputs[0], stream=stream)]


def call_of(graph: Graph, region: Region, mapped: Mapped) -> OperatorCall | None:
    """The call of `mapped` that computes `region`, or None where it does not."""
    if region.problem is not None or len(region.outputs) != 1 or region.states_written:
        return None
    values = _argument_values(graph, region, mapped)
    if values is None:
        return None
    paths = {p.value: p.path for p in graph.parameters}
    paths.update({s.value: s.path for s in graph.states})
    tensors: dict[str, FromInput | FromPath] = {}
    attributes: dict[str, Any] = {}
    covered: set[int] = set()
    for argument in mapped.arguments:
        number = values.get(argument.source)
        if number is None:
            if not argument.optional:
                return None
            continue
        if not _fits(graph, number, argument):
            return None
        covered.add(number)
        if number in region.inputs:
            tensors[argument.name] = FromInput(region.inputs.index(number))
        elif number in paths:
            tensors[argument.name] = FromPath(paths[number])
        else:
            return None
    for attribute, source in mapped.attributes.items():
        number = values.get(source)
        literal = None if number is None else graph.literal(number)
        if literal is None:
            return None
        attributes[attribute] = literal
    read = {*region.inputs, *(n for n in paths if paths[n] in _paths_read(region))}
    if not read <= covered:
        return None
    return OperatorCall(mapped.operator, tensors, attributes, region.states_read)


def _argument_values(graph: Graph, region: Region, mapped: Mapped) -> dict[str | int, int] | None:
    """The value behind each argument of the op, or operand of the step; absent ones are left out.
    None where the region is not the op's call or the step.
    """
    if mapped.step is not None:
        step = graph.steps[region.start]
        if len(region.steps) != 1 or step.kind != mapped.step:
            return None
        return dict(enumerate(step.operands))
    if region.call is None:
        return None
    call = graph.calls[region.call]
    whole = region.steps == tuple(range(call.start, call.stop))
    if call.callee != mapped.op or not whole or tuple(call.results) != region.outputs:
        return None
    return {a.name: a.value for a in call.arguments if isinstance(a.value, int)}


def _fits(graph: Graph, number: int, argument: Argument) -> bool:
    value = graph.values[number]
    least, greatest = argument.ranks
    rank = len(value.shape)
    return (
        value.dtype in argument.dtypes
        and rank >= least
        and (greatest is None or rank <= greatest)
        and value.origin != "constant"
    )


def _paths_read(region: Region) -> set[str]:
    return {*region.parameters, *region.states_read}
