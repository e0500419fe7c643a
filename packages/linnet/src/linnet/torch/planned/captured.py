"""A plan's step, captured once and replayed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from linnet.torch.module import Inputs, commit
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import located, restored
from linnet.torch.planned.items import RegionItem, SliceItem, place
from linnet.torch.planned.plan import Plan
from linnet.torch.planned.recording import Part, Recording, record
from linnet.torch.watch import Watch


@dataclass(frozen=True)
class UnrecordedRow:
    """Steps that a replay runs one by one, and why."""

    place: str
    steps: int
    reason: str


@dataclass(frozen=True)
class CaptureReport:
    """How much of a step is recorded: steps of the graph, kernel calls, bytes of the arena.

    `once_steps` cost a replay nothing: they were done when the step was recorded.
    """

    entry: str
    steps: int
    recorded_steps: int
    once_steps: int
    parts: int
    calls: int
    arena_bytes: int
    unrecorded: tuple[UnrecordedRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as dictionaries, lists, numbers and strings."""
        return {"version": 1, **asdict(self)}

    def __str__(self) -> str:
        share = (self.recorded_steps + self.once_steps) / self.steps if self.steps else 1.0
        lines = [
            f"captured step of entry {self.entry}: {share:.0%} of {self.steps} steps recorded, "
            f"{self.calls} kernel calls in {self.parts} parts, {self.arena_bytes} bytes of buffers"
        ]
        lines += [f"  {row.place}, {row.steps} steps: {row.reason}" for row in self.unrecorded]
        return "\n".join(lines)


class Captured:
    """Runs the step of a plan: the first call runs it item by item, the second records it, and
    from then on it is replayed.

    Each call takes the entry's inputs and returns its flat results, as tensors of the caller's
    own. Inputs are checked before anything runs. A weight or state that was replaced, or a weight
    that was written, is seen: the step is recorded anew. A call that fails leaves the states as
    they were. Calls from several threads run one after another.
    """

    def __init__(self, plan: Plan, context: PlanContext) -> None:
        plan.check_context(context)
        if context.device.type == "cuda":
            raise NotImplementedError(
                "Captured: steps on CUDA devices are not captured yet; use plan.run"
            )
        self.plan = plan
        self.context = context
        self._recording: Recording | None = None
        graph = plan.graph
        paths = [*(p.path for p in graph.parameters), *(s.path for s in graph.states)]
        self._watch = Watch(plan.model, paths, contents=False)
        self._calls = 0
        self._lock = threading.Lock()

    def __call__(self, inputs: Inputs) -> list[Tensor]:
        """Runs one step on `inputs`, a list or a mapping by name; returns its flat results."""
        with self._lock, torch.no_grad():
            self._calls += 1
            if self._calls == 1:
                return self.plan.run(inputs, self.context)
            tensors = self.plan.bind(inputs, self.context.device)
            return self._replay(tensors, self._current())

    def report(self) -> CaptureReport:
        """How much of the step is recorded, and why the rest is not; records it if need be."""
        with self._lock, torch.no_grad():
            recording = self._current()
        items = self.plan.items
        parts = [entry for entry in recording.program if isinstance(entry, Part)]
        return CaptureReport(
            entry=self.plan.graph.entry,
            steps=len(self.plan.graph.steps),
            recorded_steps=sum(len(i.region.steps) for part in parts for i in part.items),
            once_steps=sum(_steps(items[n]) for n in recording.made_once),
            parts=len(parts),
            calls=sum(part.replay.calls for part in parts),
            arena_bytes=recording.arena.size,
            unrecorded=tuple(
                UnrecordedRow(_place(items[n]), _steps(items[n]), reason)
                for n, reason in sorted(recording.reasons.items())
            ),
        )

    def _current(self) -> Recording:
        """The recording for the weights and states as they are now."""
        changed = self.context.prepare()
        if self._recording is None or changed or self._watch.changed():
            self._recording = None
            self._recording = record(self.plan.engine, self.plan.target, self.context)
            self._watch.renew()
        return self._recording

    def _replay(self, inputs: list[Tensor], recording: Recording) -> list[Tensor]:
        engine, context = self.plan.engine, self.context
        known = dict(recording.tensors)
        for item, tensor in zip(self.plan.graph.inputs, inputs, strict=True):
            fixed = known.get(item.value)
            if fixed is None:
                known[item.value] = tensor
            else:
                fixed.copy_(tensor)
        written: dict[str, Tensor] = {}
        engine.check_requirements(inputs)
        with restored(recording.backed_up, context.parameters):
            for entry in recording.program:
                if isinstance(entry, Part):
                    _run_part(entry, self.plan.graph.entry)
                else:
                    engine.run_item(engine.items[entry], known, written, context)
                    self._to_fixed(engine.items[entry].outputs, known, recording)
        states = {state.path: context.parameters[state.path] for state in self.plan.graph.states}
        shared = [recording.arena.buffer, *self.plan.shared()]
        return commit(engine.results(known, context), written, states, shared)

    def _to_fixed(
        self, outputs: Iterable[int], known: dict[int, Tensor], recording: Recording
    ) -> None:
        """Copies what an unrecorded item made to where recorded ones read it."""
        for number in outputs:
            fixed = recording.tensors.get(number)
            if fixed is not None and known[number] is not fixed:
                fixed.copy_(known[number])
                known[number] = fixed


def _run_part(part: Part, entry: str) -> None:
    try:
        part.replay.run()
    except Exception as error:
        raise located(error, f"{entry}: replay on {part.items[0].backend.name}") from error


def _steps(item: RegionItem | SliceItem) -> int:
    return len(item.region.steps if isinstance(item, RegionItem) else item.portion.steps)


def _place(item: RegionItem | SliceItem) -> str:
    if isinstance(item, RegionItem):
        return f"{item.backend.name}, {place(item.region.span, item.region.steps)}"
    return place(item.span, item.portion.steps)
