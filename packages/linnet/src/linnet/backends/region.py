"""Regions: the sets of steps of a graph that a back end takes over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from linnet.graph import Body, Graph, SourceSpan, Step


class RegionError(ValueError):
    """A region that cannot be run as one; the text says why."""


@dataclass(frozen=True)
class Region:
    """Steps of a graph that run together, at the place of the first of them.

    Make one with `Region.of` or `Region.of_steps`. Making one never fails: `problem` says what is
    wrong with it, a plan refuses it for that reason, and the other properties raise `RegionError`.

    `steps` are positions in `graph.steps`, ascending. `call` is the index of the call it stands
    for, or None. A loop is one step, so no region splits one.
    """

    graph: Graph = field(compare=False, repr=False)
    steps: tuple[int, ...]
    call: int | None = None

    @staticmethod
    def of(graph: Graph, start: int, stop: int, call: int | None = None) -> Region:
        """The steps `start` to `stop` (exclusive)."""
        return Region(graph, tuple(range(start, stop)), call)

    @staticmethod
    def of_steps(graph: Graph, steps: Iterable[int], call: int | None = None) -> Region:
        """Steps apart, which run together where the first stands. Each value that they read from
        outside must exist before the first, and no state that they touch may be touched by a step
        between them.
        """
        return Region(graph, tuple(sorted(steps)), call)

    @cached_property
    def problem(self) -> str | None:
        """What makes this no region of its graph, or None."""
        if not self.steps:
            return "has no steps"
        count = len(self.graph.steps)
        outside = [n for n in self.steps if not 0 <= n < count]
        if outside:
            return f"names step {outside[0]}, and the graph has the steps 0 to {count - 1}"
        if len(set(self.steps)) != len(self.steps):
            twice = next(n for n in self.steps if self.steps.count(n) > 1)
            return f"overlaps itself: it names step {twice} more than once"
        if self.call is not None and not 0 <= self.call < len(self.graph.calls):
            return f"names call {self.call}, and the graph has {len(self.graph.calls)} calls"
        return self._not_convex() or self._state_conflict()

    def _not_convex(self) -> str | None:
        first = self.steps[0]
        within = set(self.steps)
        for number in self._reads:
            maker = self.graph.producers.get(number)
            if maker is not None and maker.index not in within and maker.index > first:
                return (
                    f"is not convex: it runs at step {first} and reads value {number}, which step "
                    f"{maker.index} makes later, outside it"
                )
        return None

    def _state_conflict(self) -> str | None:
        first, last = self.steps[0], self.steps[-1]
        within = set(self.steps)
        contents = self.graph.state_paths
        written = set(self._written)
        for step in self.graph.steps[first : last + 1]:
            if step.index in within:
                continue
            if step.kind == "state_write" and step.attributes["state"] in self._touched:
                return (
                    f"touches the state {step.attributes['state']}, which step {step.index} "
                    "between its steps writes"
                )
            for number in step.reads:
                if contents.get(number) in written:
                    return (
                        f"writes the state {contents[number]}, which step {step.index} between "
                        "its steps reads"
                    )
        return None

    def _check(self) -> None:
        if self.problem is not None:
            raise RegionError(f"region {_brief(self.steps)} {self.problem}")

    @cached_property
    def _own(self) -> tuple[Step, ...]:
        return tuple(self.graph.steps[n] for n in self.steps)

    @cached_property
    def _reads(self) -> tuple[int, ...]:
        """Values read and not made here, in order of first use."""
        seen: dict[int, None] = {}
        made: set[int] = set()
        for step in self._own:
            seen.update((number, None) for number in step.reads if number not in made)
            made.update(step.results)
        return tuple(seen)

    @cached_property
    def _written(self) -> tuple[str, ...]:
        paths = (s.attributes["state"] for s in self._own if s.kind == "state_write")
        return tuple(dict.fromkeys(paths))

    @cached_property
    def _touched(self) -> frozenset[str]:
        contents = self.graph.state_paths
        return frozenset(
            (*self._written, *(contents[n] for n in self._reads if n in contents)),
        )

    @property
    def start(self) -> int:
        """Position of the first step, where the region runs."""
        self._check()
        return self.steps[0]

    @property
    def stop(self) -> int:
        """One past the position of the last step."""
        self._check()
        return self.steps[-1] + 1

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of the values that it reads and does not make, in order of first use: inputs of
        the entry and results of other steps. Parameters, states and constants are not among them.
        """
        self._check()
        return tuple(n for n in self._reads if self.graph.values[n].origin in ("input", "step"))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Numbers of the values that it makes and that another step reads or the entry returns."""
        self._check()
        within = set(self.steps)
        returned = set(self.graph.results)
        found = []
        for step in self._own:
            for number in step.results:
                readers = self.graph.readers.get(number, ())
                if number in returned or any(r.index not in within for r in readers):
                    found.append(number)
        return tuple(found)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Paths of the parameters and buffers that it reads, in order of first use."""
        self._check()
        paths = self.graph.parameter_paths
        return tuple(paths[n] for n in self._reads if n in paths)

    @cached_property
    def states_read(self) -> tuple[str, ...]:
        """Paths of the states whose content before the entry it reads, in order of first use."""
        self._check()
        paths = self.graph.state_paths
        return tuple(paths[n] for n in self._reads if n in paths)

    @cached_property
    def states_written(self) -> tuple[str, ...]:
        """Paths of the states that it writes, in order."""
        self._check()
        return self._written

    @property
    def span(self) -> SourceSpan | None:
        """Where it stands in the source: its call, or its first step that knows."""
        self._check()
        if self.call is not None and self.graph.calls[self.call].span is not None:
            return self.graph.calls[self.call].span
        return next((step.span for step in self._own if step.span is not None), None)

    @cached_property
    def kind(self) -> str:
        """Equal for regions that compute the same: a hash of the steps, with values renumbered,
        constants as numbers, and parameters and states by shape and dtype instead of by path.
        """
        self._check()
        canonical = _Canonical(self.graph)
        document = [
            [canonical.value(number) for number in self._reads],
            canonical.steps(self._own),
            [canonical.value(number) for number in self.outputs],
        ]
        text = json.dumps(document, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def overlaps(self, other: Region) -> bool:
        """Whether the two share a step."""
        return not set(self.steps).isdisjoint(other.steps)


class _Canonical:
    """Writes steps without what tells equal computations apart: numbers, paths and spans."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.states = {state.path: state.value for state in graph.states}
        self.numbers: dict[int, int] = {}

    def value(self, number: int) -> list[Any]:
        known = number in self.numbers
        position = self.numbers.setdefault(number, len(self.numbers))
        if known:
            return [position]
        value = self.graph.values[number]
        origin = "input" if value.origin == "step" else value.origin
        # `repr` tells -0.0 from 0.0 and writes NaN, which JSON would not.
        literal = repr(self.graph.literal(number)) if value.origin == "constant" else None
        return [position, origin, list(value.shape), value.dtype, literal]

    def steps(self, steps: Sequence[Step]) -> list[Any]:
        return [self.step(step) for step in steps]

    def step(self, step: Step) -> list[Any]:
        attributes = dict(step.attributes)
        if step.kind == "state_write":
            attributes["state"] = self.value(self.states[attributes["state"]])
        return [
            step.kind,
            [self.value(number) for number in step.operands],
            attributes,
            [self.body(body) for body in step.bodies],
            [self.value(number) for number in step.results],
        ]

    def body(self, body: Body) -> list[Any]:
        inputs = [self.value(number) for number in body.inputs]
        steps = self.steps(body.steps)
        return [inputs, steps, [self.value(number) for number in body.outputs]]


def _brief(steps: Sequence[int]) -> str:
    if len(steps) > 1 and list(steps) == list(range(steps[0], steps[-1] + 1)):
        return f"[{steps[0]}, {steps[-1] + 1})"
    return str(list(steps[:8])).replace("]", ", ...]" if len(steps) > 8 else "]")
