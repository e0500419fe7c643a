"""Asks back ends for regions, and refuses what cannot be run, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.backends import Backend, Capabilities, Executable, Options, Region, Requirement, Target
from linnet.backends.discovery import check_backend
from linnet.graph import Graph

#: The meta attributes that an executable must have, with their types.
_INTEGERS = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))
_META = (("states_read", tuple), ("states_written", tuple), ("holds", int))


@dataclass(frozen=True)
class Refusal:
    """Something that a back end does not run: a region, or all of it where `region` is None."""

    backend: str
    reason: str
    region: Region | None = None


@dataclass(frozen=True)
class Proposal:
    """A region that a back end offers to run and that can be run."""

    backend: Backend
    region: Region


def propose(
    graph: Graph, backends: Sequence[Backend], target: Target
) -> tuple[list[Proposal], list[Refusal]]:
    """The regions that the back ends offer, in their order, and what was refused."""
    proposals: list[Proposal] = []
    refusals: list[Refusal] = []
    names: set[str] = set()
    for backend in backends:
        name = str(getattr(backend, "name", None) or type(backend).__name__)
        try:
            check_backend(backend, name)
            if name in names:
                raise ValueError(f"two back ends are called {name!r}; the first one is used")
            names.add(name)
            capabilities: Any = backend.probe(target)
            if capabilities is None:
                refusals.append(Refusal(name, f"declines {target.kind}"))
                continue
            if not isinstance(capabilities, Capabilities):
                raise TypeError(f"probe returned {_kind(capabilities)}, not Capabilities or None")
            offered: list[Any] = list(backend.match(graph, target))
        except Exception as error:
            refusals.append(Refusal(name, describe_failure(error)))
            continue
        for region in offered:
            problem = _problem(graph, region, capabilities)
            if problem is None:
                proposals.append(Proposal(backend, region))
            else:
                shown = region if isinstance(region, Region) else None
                refusals.append(Refusal(name, problem, shown))
    return proposals, refusals


def compile_regions(
    backend: Backend, regions: Sequence[Region], target: Target, options: Options
) -> list[Executable | str]:
    """An executable for each region, or why there is none."""
    together = getattr(backend, "compile_regions", None)
    if together is not None and len(regions) > 1:
        try:
            made = list(together(list(regions), target, options))
            if len(made) != len(regions):
                raise ValueError(
                    f"compile_regions returned {len(made)} executables for {len(regions)} regions"
                )
        except Exception as error:
            return [f"compile_regions failed: {describe_failure(error)}"] * len(regions)
        return [
            _checked(executable, region) for executable, region in zip(made, regions, strict=True)
        ]
    found: list[Executable | str] = []
    for region in regions:
        try:
            found.append(_checked(backend.compile(region, target, options), region))
        except Exception as error:
            found.append(f"compile failed: {describe_failure(error)}")
    return found


def describe_failure(error: BaseException) -> str:
    """`ValueError: text`."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _checked(executable: Any, region: Region) -> Executable | str:
    for method in ("prepare", "execute"):
        if not callable(getattr(executable, method, None)):
            return f"compile returned {_kind(executable)}, which has no method {method}"
    meta = getattr(executable, "meta", None)
    for name, kind in _META:
        if not isinstance(getattr(meta, name, None), kind):
            return f"its executable's meta must be an ExecutableMeta, got {_kind(meta)}"
    assert meta is not None
    if meta.holds < 0:
        return f"its executable holds {meta.holds} bytes"
    in_place = getattr(meta, "reads_in_place", False)
    if not isinstance(in_place, bool):
        return f"its executable's reads_in_place is {in_place!r}, expected True or False"
    problem = _requires_problem(getattr(meta, "requires", None), region)
    if problem is not None:
        return problem
    undeclared = set(meta.states_written) - set(region.states_written)
    if undeclared:
        return f"its executable writes the state {min(undeclared)}, and the region does not"
    checked: Executable = executable
    return checked


def _requires_problem(requires: Any, region: Region) -> str | None:
    """Why an executable's `requires` says nothing about its region's inputs, or None."""
    if requires is None:
        return None
    if not isinstance(requires, tuple) or not all(isinstance(r, Requirement) for r in requires):
        return "its executable's meta.requires must be None or a tuple of Requirement"
    for need in requires:
        if not 0 <= need.input < len(region.inputs):
            return (
                f"its executable requires something of input {need.input}, and the region has "
                f"{len(region.inputs)} inputs"
            )
        if region.graph.values[region.inputs[need.input]].dtype not in _INTEGERS:
            return f"its executable requires integers of input {need.input}, which has none"
    return None


def _problem(graph: Graph, region: Any, capabilities: Capabilities) -> str | None:
    if not isinstance(region, Region):
        return f"match returned {_kind(region)}, not a Region"
    if region.graph is not graph:
        return "match returned a region of another graph"
    if region.problem is not None:
        return f"the region {region.problem}"
    return _dtype_problem(graph, region, capabilities) or state_problem(graph, region)


def _dtype_problem(graph: Graph, region: Region, capabilities: Capabilities) -> str | None:
    if capabilities.dtypes is None:
        return None
    dtypes = {graph.values[n].dtype for n in (*region.inputs, *region.outputs)}
    read = {n for step in region.steps for n in graph.steps[step].reads}
    dtypes |= {graph.values[n].dtype for n in read.intersection(graph.parameter_paths)}
    others = sorted(dtypes - capabilities.dtypes)
    return f"it does not take {', '.join(others)}" if others else None


def state_problem(graph: Graph, region: Region) -> str | None:
    """Why a region must not write the states that it writes in place, or None."""
    for path in region.states_written:
        times = graph.writes[path]
        if times > 1:
            return f"the state {path} is written {times} times, and the region holds only one"
        content = next(n for n, one in graph.state_paths.items() if one == path)
        own = set(region.steps)
        late = _after(graph.readers.get(content, ()), region.start, own)
        if late is not None or content in graph.results:
            reader = "the result" if late is None else f"step {late}"
            return f"it writes the state {path}, whose content from before {reader} reads later"
    return None


def _after(readers: Iterable[Any], start: int, own: set[int]) -> int | None:
    return next((s.index for s in readers if s.index >= start and s.index not in own), None)


def _kind(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"
