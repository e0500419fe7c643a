"""Records the executables of a plan into replay objects, at addresses that do not change."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from linnet.backends import Backend, Recorder, Replay, Target
from linnet.graph import Graph, literal_steps
from linnet.graph.kinds import VIEWS
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned.arena import Arena, Lifetime, make_arena
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import Engine
from linnet.torch.planned.items import Item, RegionItem, SliceItem
from linnet.torch.planned.proposals import describe_failure


class RecordingWarning(UserWarning):
    """A back end's recorder failed; what it should have recorded runs step by step."""


@dataclass(frozen=True)
class Part:
    """Neighbouring regions of one back end, recorded as one."""

    items: tuple[RegionItem, ...]
    replay: Replay


@dataclass(frozen=True)
class Recording:
    """A step made ready to replay.

    `program` is what to do in order: replay a part, or run the item at a position. `tensors` are
    the values with fixed addresses. `made_once` are the items that a replay does not run: views,
    and what depends on literals alone. `reasons` says of each item that is not recorded why.
    `backed_up` are the states that a failing replay may leave half written.
    """

    program: tuple[Part | int, ...]
    tensors: Mapping[int, Tensor]
    arena: Arena
    made_once: frozenset[int]
    reasons: Mapping[int, str]
    backed_up: tuple[str, ...]


class _RecordingError(Exception):
    """Items that cannot be recorded, and why."""

    def __init__(self, positions: Sequence[int], reason: str) -> None:
        super().__init__(reason)
        self.positions = tuple(positions)
        self.reason = reason


def record(engine: Engine, target: Target, context: PlanContext) -> Recording:
    """Records as much of a plan as its back ends can. Nothing is computed and no state changes."""
    reasons: dict[int, str] = {}
    for position, item in enumerate(engine.items):
        if isinstance(item, SliceItem):
            reasons[position] = "generated source"
        else:
            recorder = make_recorder(item.backend, target)
            if isinstance(recorder, str):
                reasons[position] = recorder
    while True:
        try:
            return _Attempt(engine, target, context, reasons).recording()
        except _RecordingError as failure:
            where = engine.items[failure.positions[0]].where()
            warnings.warn(f"{where}: {failure.reason}", RecordingWarning, stacklevel=2)
            reasons.update(dict.fromkeys(failure.positions, failure.reason))


def make_recorder(backend: Backend, target: Target) -> Recorder | str:
    """A recorder of a back end, or why there is none."""
    make = getattr(backend, "recorder", None)
    if make is None:
        return f"{backend.name} offers no recorder"
    try:
        recorder: Recorder | None = make(target)
    except Exception as error:
        return f"{backend.name}: recorder failed: {describe_failure(error)}"
    if recorder is None:
        return f"{backend.name} cannot record on {target.kind}"
    return recorder


class _Attempt:
    def __init__(
        self,
        engine: Engine,
        target: Target,
        context: PlanContext,
        reasons: Mapping[int, str],
    ) -> None:
        self.engine = engine
        self.graph: Graph = engine.graph
        self.items = engine.items
        self.target = target
        self.context = context
        self.reasons = dict(reasons)
        recorded = [item for n, item in enumerate(self.items) if n not in reasons]
        #: The values that a replay reads or writes.
        self.touched = {n for item in recorded for n in (*item.inputs, *item.outputs)}
        self.states = state_results(self.graph, recorded)
        #: View value -> the value in whose memory it lies.
        self.roots: dict[int, int] = {}
        #: The values that depend on literals alone.
        self.constants: dict[int, Tensor] = {}

    def recording(self) -> Recording:
        constants = self.find_constants()
        views = self.find_views()
        made_once = frozenset((*constants, *views))
        arena = make_arena(self.lifetimes(), self.context.device)
        tensors = {**arena.tensors, **self.constants}
        for number, path in self.states.items():
            tensors[number] = self.context.parameters[path]
        for position in views:
            self.make_views(self.items[position], tensors)
        program: list[Part | int] = []
        part: list[int] = []
        for position, item in enumerate(self.items):
            if position in made_once:
                continue
            open_backend = self.items[part[-1]] if part else None
            same = (
                isinstance(open_backend, RegionItem)
                and isinstance(item, RegionItem)
                and open_backend.backend is item.backend
            )
            if part and (position in self.reasons or not same):
                program.append(self.record_part(part, tensors))
                part = []
            if position in self.reasons:
                program.append(position)
            else:
                part.append(position)
        if part:
            program.append(self.record_part(part, tensors))
        reasons = {n: reason for n, reason in self.reasons.items() if n not in made_once}
        backed_up = self.engine.fragile_states(set(range(len(self.items))) - set(reasons))
        return Recording(tuple(program), tensors, arena, made_once, reasons, backed_up)

    # --- constants: slices that depend on literals alone ---

    def find_constants(self) -> list[int]:
        """Positions of the slices that depend on literals alone. Their values are made now, once,
        and stay where they are.
        """
        constant = literal_steps(self.graph)
        found = []
        for position, item in enumerate(self.items):
            if not isinstance(item, SliceItem) or item.inputs:
                continue
            if constant.issuperset(item.portion.steps):
                outputs, _ = item.runner.run([], self.context.parameters.__getitem__)
                self.constants.update(zip(item.outputs, outputs, strict=True))
                found.append(position)
        return found

    # --- views: slices that compute nothing ---

    def find_views(self) -> list[int]:
        """Positions of the slices whose outputs lie in the memory of fixed values: they are made
        once, when recording, and cost nothing in a replay.
        """
        made: dict[int, Tensor] = dict(self.constants)
        found = []
        for position, item in enumerate(self.items):
            if isinstance(item, SliceItem) and self.only_views(item):
                inputs = [made.get(n, self.blank(n)) for n in item.inputs]
                outputs, _ = item.runner.run(inputs, self.context.parameters.__getitem__)
                memory = {_memory(t): n for n, t in zip(item.inputs, inputs, strict=True)}
                if all(_memory(output) in memory for output in outputs):
                    found.append(position)
                    for number, output in zip(item.outputs, outputs, strict=True):
                        made[number] = output
                        source = memory[_memory(output)]
                        self.roots[number] = self.roots.get(source, source)
        self.touched.update(self.roots.values())
        return found

    def only_views(self, item: SliceItem) -> bool:
        steps = [self.graph.steps[n] for n in item.portion.steps]
        moves = all(step.kind in VIEWS or step.kind == "reshape" for step in steps)
        values = [self.graph.values[n] for n in item.inputs]
        empty = any(0 in value.shape for value in values)
        fixed = all(
            n in self.touched or n in self.roots or n in self.constants for n in item.inputs
        )
        useful = any(n in self.touched for n in item.outputs)
        return moves and bool(item.inputs) and not empty and (fixed or useful)

    def blank(self, number: int) -> Tensor:
        value = self.graph.values[number]
        return torch.empty(value.shape, dtype=torch_dtype(value.dtype), device=self.context.device)

    def make_views(self, item: Item, tensors: dict[int, Tensor]) -> None:
        assert isinstance(item, SliceItem)
        inputs = [tensors[n] for n in item.inputs]
        outputs, _ = item.runner.run(inputs, self.context.parameters.__getitem__)
        tensors.update(zip(item.outputs, outputs, strict=True))

    # --- memory ---

    def lifetimes(self) -> list[Lifetime]:
        """How long each fixed value must keep its memory: from the item that makes it to the last
        that reads it or a view of it; results until the end.
        """
        first: dict[int, int] = {item.value: -1 for item in self.graph.inputs}
        last: dict[int, int] = {}
        for position, item in enumerate(self.items):
            for number in item.outputs:
                first.setdefault(number, position)
            for number in (*item.inputs, *item.outputs):
                last[self.roots.get(number, number)] = position
        end = len(self.items)
        for number in (*self.graph.results, *(s.result for s in self.graph.states)):
            last[self.roots.get(number, number)] = end
        found = []
        for number in sorted(self.touched):
            if number in self.states or number in self.roots or number in self.constants:
                continue
            value = self.graph.values[number]
            begins = first[number]
            # Inputs are written before the first item runs, whatever reads them.
            found.append(
                Lifetime(
                    number, value.shape, torch_dtype(value.dtype), begins, last.get(number, begins)
                )
            )
        return found

    # --- recording ---

    def record_part(self, positions: Sequence[int], tensors: Mapping[int, Tensor]) -> Part:
        items = [item for n in positions if isinstance(item := self.items[n], RegionItem)]
        recorder = make_recorder(items[0].backend, self.target)
        if isinstance(recorder, str):
            raise _RecordingError(positions, recorder)
        done = 0
        try:
            with recorder.recording():
                for item in items:
                    self.record_item(item, tensors)
                    done += 1
        except Exception as error:
            failed = positions[done : done + 1] or positions
            raise _RecordingError(failed, f"recording failed: {describe_failure(error)}") from error
        try:
            replay = recorder.finish()
            if not (callable(getattr(replay, "run", None)) and isinstance(replay.calls, int)):
                raise TypeError(f"finish returned a {type(replay).__name__}, which is no replay")
        except Exception as error:
            raise _RecordingError(positions, f"finish failed: {describe_failure(error)}") from error
        return Part(tuple(items), replay)

    def record_item(self, item: RegionItem, tensors: Mapping[int, Tensor]) -> None:
        inputs = [tensors[number] for number in item.inputs]
        outputs = [tensors[number] for number in item.outputs]
        execute_into(item, inputs, outputs, self.context)


def execute_into(
    item: RegionItem, inputs: Sequence[Tensor], outputs: Sequence[Tensor], context: PlanContext
) -> None:
    """`execute` while recording. ValueError when it returns other tensors than `outputs`."""
    made = list(item.executable.execute(inputs, outputs, context))
    same = len(made) == len(outputs) and all(
        a is b or (a.data_ptr() == b.data_ptr() and a.stride() == b.stride())
        for a, b in zip(made, outputs, strict=True)
    )
    if not same:
        raise ValueError("execute did not return the outputs that it was given to write to")


def state_results(graph: Graph, recorded: Sequence[Item]) -> dict[int, str]:
    """Value -> state, for the values that recorded regions write to a state: they lie in it."""
    found: dict[int, str] = {}
    for item in recorded:
        if isinstance(item, RegionItem):
            for state in graph.states:
                if state.path in item.region.states_written and state.result in item.outputs:
                    found[state.result] = state.path
    return found


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
