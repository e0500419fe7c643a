"""Regions that one operator computes: the call of a mapped op, or a mapped step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infini.linnet.bounds import requirements
from infini.linnet.program import (
    FromConstant,
    FromInput,
    FromPath,
    Launch,
    Place,
    Program,
    Result,
    Viewed,
)
from infini.linnet.table import OPERATOR_DTYPES, Argument, Mapped, Source
from linnet.backends import ExecutableMeta, Region
from linnet.graph import Call, Graph, Step, fold


def region_of_call(graph: Graph, call: Call, mapped: Mapped) -> Region | None:
    """The steps of a call; with the write to the state after it, where the op gives the new content
    of a state that it reads and the operator may write it in place.
    """
    if call.start == call.stop:
        return None
    if call.stop < len(graph.steps):
        write = graph.steps[call.stop]
        if write.kind == "state_write" and write.operands == call.results:
            content = next(s.value for s in graph.states if s.path == write.attributes["state"])
            aliased = (one.source.what for one in mapped.arguments if one.name in mapped.aliases)
            if any(call.argument(name) == content for name in aliased):
                return Region.of(graph, call.start, call.stop + 1, call.index)
    return Region.of(graph, call.start, call.stop, call.index)


def program_of(graph: Graph, region: Region, mapped: Mapped) -> Program | None:
    """The call of `mapped` that computes `region`, or None where it does not."""
    if region.problem is not None or len(region.outputs) > 1:
        return None
    found = _values(graph, region, mapped)
    if found is None:
        return None
    values, step = found
    places = Places(graph, region)
    tensors: dict[str, Viewed] = {}
    covered: set[int] = set()
    for argument in mapped.arguments:
        number = values.get(argument.source.what)
        if number is None:
            if not argument.optional:
                return None
            continue
        place = places.of(number)
        if place is None or not fits(graph, number, argument):
            return None
        covered.add(number)
        tensors[argument.name] = Viewed(place, argument.source.view)
    attributes = _attributes(graph, region, mapped.attributes, values, step)
    covered.update(values[s.what] for s in mapped.attributes.values() if s.what in values)
    if attributes is None or not places.read <= covered:
        return None
    results: list[tuple[tuple[int, ...], str] | str] = []
    if region.states_written:
        # The state's new content lies in the state, whether or not something else reads it.
        (path,) = region.states_written
        out: Place = FromPath(path)
        results = [path] * len(region.outputs)
    elif len(region.outputs) == 1:
        value = graph.values[region.outputs[0]]
        out = Result(0)
        results = [(value.shape, value.dtype)]
    else:
        return None
    return Program(
        [Launch(mapped.operator, tensors, attributes, {"out": Viewed(out)})],
        results,
        ExecutableMeta(
            region.states_read,
            region.states_written,
            requires=requirements(graph, values, tensors, mapped.arguments),
        ),
    )


class Places:
    """Where the values that a region reads lie."""

    def __init__(self, graph: Graph, region: Region) -> None:
        self._graph = graph
        self._inputs = {number: n for n, number in enumerate(region.inputs)}
        paths = {*region.parameters, *region.states_read}
        #: Every value that the region reads and that has a place in memory.
        self.read = {*region.inputs, *(n for n, path in graph.paths.items() if path in paths)}

    def of(self, number: int) -> Place | None:
        """The place of a value, or None for one that the region makes."""
        if number in self._inputs:
            return FromInput(self._inputs[number])
        if number in self._graph.paths:
            return FromPath(self._graph.paths[number])
        literal = self._graph.literal(number)
        if literal is not None:
            return FromConstant(literal, self._graph.values[number].dtype)
        return None


def fits(graph: Graph, number: int, argument: Argument) -> bool:
    """Whether an operator takes the value as that argument."""
    value = graph.values[number]
    least, greatest = argument.ranks
    rank = len(value.shape) + argument.source.view.count(None)
    return (
        value.dtype in argument.dtypes and rank >= least and (greatest is None or rank <= greatest)
    )


def _values(
    graph: Graph, region: Region, mapped: Mapped
) -> tuple[dict[str | int, int], Step | None] | None:
    """The value behind each argument of the op, or operand of the step; absent ones are left out.
    None where the region is not the op's call or the step.
    """
    if mapped.step is not None:
        step = graph.steps[region.start]
        if len(region.steps) != 1 or step.kind != mapped.step:
            return None
        if any(str(step.attributes.get(name)) != value for name, value in mapped.when.items()):
            return None
        return dict(enumerate(step.operands)), step
    if region.call is None:
        return None
    call = graph.calls[region.call]
    stop = call.stop + len(region.states_written)
    if call.callee != mapped.op or region.steps != tuple(range(call.start, stop)):
        return None
    if not set(region.outputs) <= set(call.results):
        return None
    return {a.name: a.value for a in call.arguments if isinstance(a.value, int)}, None


def _attributes(
    graph: Graph,
    region: Region,
    sources: Mapping[str, Source],
    values: Mapping[str | int, int],
    step: Step | None,
) -> dict[str, Any] | None:
    """The values of an operator's attributes, or None where one is not known yet."""
    found: dict[str, Any] = {}
    for name, source in sources.items():
        if source.kind == "value":
            found[name] = source.what
        elif source.kind == "result":
            (number,) = region.outputs
            found[name] = OPERATOR_DTYPES[graph.values[number].dtype]
        elif source.kind == "attribute":
            assert step is not None
            value = step.attributes[source.what]
            found[name] = list(value) if isinstance(value, tuple) else value
        else:
            given = values.get(source.what)
            literal = None if given is None else fold(graph, given)
            if literal is None:
                return None
            found[name] = literal
    return found
