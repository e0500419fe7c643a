"""A recorded step, run on inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from linnet.torch.module import commit
from linnet.torch.planned.capture_report import CaptureReport, step_count, unrecorded_rows
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import located, restored
from linnet.torch.planned.plan import Plan
from linnet.torch.planned.recording import Part, record


class ReplayedStep:
    """A plan's step as its back ends recorded it, with what is not recorded run in between.

    What a replay needs is found once: the tensors of a recording do not move, and `Captured` drops
    it when a weight or state does.
    """

    def __init__(self, plan: Plan, context: PlanContext) -> None:
        self.recording = record(plan.engine, plan.target, context)
        self._plan = plan
        self._context = context
        fixed = self.recording.tensors
        graph = plan.graph
        self._inputs = [fixed.get(item.value) for item in graph.inputs]
        self._parts = [entry for entry in self.recording.program if isinstance(entry, Part)]
        self._states = {s.path: context.parameters[s.path] for s in graph.states}
        #: The results, where they all have fixed places.
        self._results: list[Tensor] | None = None
        if set(graph.results) <= set(fixed):
            self._results = [fixed[number] for number in graph.results]
        self._whole = len(self._parts) == len(self.recording.program)

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The flat results for bound inputs, as tensors of the caller's own."""
        entry = self._plan.graph.entry
        self._plan.engine.check_requirements(inputs)
        for fixed, tensor in zip(self._inputs, inputs, strict=True):
            if fixed is not None:
                fixed.copy_(tensor)
        if self._results is None or not self._whole:
            return self._run_between(inputs)
        with restored(self.recording.backed_up, self._states):
            for part in self._parts:
                _run_part(part, entry)
        return [tensor.clone() for tensor in self._results]

    def _run_between(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Runs the parts, and what is not recorded between them."""
        engine, context, recording = self._plan.engine, self._context, self.recording
        known = dict(recording.tensors)
        for item, tensor in zip(self._plan.graph.inputs, inputs, strict=True):
            known.setdefault(item.value, tensor)
        written: dict[str, Tensor] = {}
        with restored(recording.backed_up, self._states):
            for entry in recording.program:
                if isinstance(entry, Part):
                    _run_part(entry, self._plan.graph.entry)
                else:
                    engine.run_item(engine.items[entry], known, written, context)
                    self._to_fixed(engine.items[entry].outputs, known)
        if self._results is not None and not written:
            return [tensor.clone() for tensor in self._results]
        shared = [recording.arena.buffer, *self._plan.shared()]
        return commit(engine.results(known, context), written, self._states, shared)

    def _to_fixed(self, outputs: Iterable[int], known: dict[int, Tensor]) -> None:
        """Copies what an unrecorded item made to where recorded ones read it."""
        for number in outputs:
            fixed = self.recording.tensors.get(number)
            if fixed is not None and known[number] is not fixed:
                fixed.copy_(known[number])
                known[number] = fixed

    def report(self) -> CaptureReport:
        """How much of the step is recorded, and why the rest is not."""
        items, recording = self._plan.items, self.recording
        return CaptureReport(
            entry=self._plan.graph.entry,
            steps=len(self._plan.graph.steps),
            recorded_steps=step_count(item for part in self._parts for item in part.items),
            once_steps=step_count(items[n] for n in recording.made_once),
            parts=len(self._parts),
            calls=sum(part.replay.calls for part in self._parts),
            arena_bytes=recording.arena.size,
            value_bytes=sum(t.nbytes for t in recording.arena.tensors.values()),
            unrecorded=unrecorded_rows(items, recording.reasons),
        )


def _run_part(part: Part, entry: str) -> None:
    try:
        part.replay.run()
    except Exception as error:
        raise located(error, f"{entry}: replay on {part.items[0].backend.name}") from error
