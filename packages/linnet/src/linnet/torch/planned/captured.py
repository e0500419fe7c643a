"""A plan's step, captured once and replayed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from linnet.torch.module import Inputs
from linnet.torch.planned.capture_report import CaptureReport
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.device_graph import DeviceGraphs, GraphStep, device_graphs
from linnet.torch.planned.plan import Plan
from linnet.torch.planned.replayed import ReplayedStep
from linnet.torch.watch import Watch


class Step(Protocol):
    """A step made ready to be run on inputs again and again."""

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The flat results for bound inputs, as tensors of the caller's own."""
        ...

    def report(self) -> CaptureReport:
        """How much of it is recorded."""
        ...


class Captured:
    """Runs the step of a plan: the first call runs it item by item, the second records it, and
    from then on it is replayed. On CUDA the whole step is one CUDA graph; on other devices it is
    what the back ends record, and the rest between.

    Each call takes the entry's inputs and returns its flat results, as tensors of the caller's
    own. Inputs are checked before anything runs. A weight or state that was replaced is seen, as
    is one that was written where something is kept of what it held: the step is recorded anew. A
    call that fails leaves the states as they were. Calls from several threads run one after
    another.

    `graphs` captures work of the plan's device; None means CUDA graphs there, and none elsewhere.
    """

    def __init__(
        self, plan: Plan, context: PlanContext, graphs: DeviceGraphs | None = None
    ) -> None:
        if not isinstance(plan, Plan):
            raise TypeError(f"Captured: expected a plan, got {type(plan).__name__}")
        plan.check_context(context)
        self.plan = plan
        self.context = context
        self._graphs = graphs or device_graphs(context.device)
        self._step: Step | None = None
        graph = plan.graph
        seen = {path for item in plan.regions for path in item.region.parameters}
        others = [p.path for p in graph.parameters if p.path not in seen]
        # The context watches what the regions read. What generated source prepared from weights
        # is part of a graph of the device, so there their contents count; states change anyway.
        self._watches = (
            Watch(plan.model, others, self._graphs is not None, context.make_look),
            Watch(plan.model, [s.path for s in graph.states], False, context.make_look),
        )
        self._calls = 0
        self._lock = threading.Lock()

    def __call__(self, inputs: Inputs) -> list[Tensor]:
        """Runs one step on `inputs`, a list or a mapping by name; returns its flat results."""
        with self._lock, torch.no_grad():
            self._calls += 1
            if self._calls == 1:
                return self.plan.run(inputs, self.context)
            tensors = self.plan.bind(inputs, self.context.device)
            return self._current(tensors).run(tensors)

    def report(self) -> CaptureReport:
        """How much of the step is recorded, and why the rest is not; records it if need be.
        RuntimeError before the second call where the step becomes a graph of the device, which
        needs inputs.
        """
        with self._lock, torch.no_grad():
            if self._graphs is None:
                return self._current().report()
            if self._step is None:
                raise RuntimeError(
                    f"{self.plan.graph.entry}: nothing is captured yet; call the step twice first"
                )
            return self._step.report()

    def _current(self, inputs: Sequence[Tensor] = ()) -> Step:
        """The step as recorded for the weights and states as they are now."""
        watches = (self.context, *self._watches)
        if self._step is None or any(watch.changed() for watch in watches):
            self._step = None  # its memory is free before the next one takes its own
            self.plan.model.check_tensors(self.plan.graph)
            self.context.prepare()
            if self._graphs is None:
                self._step = ReplayedStep(self.plan, self.context)
            else:
                self._step = GraphStep(self.plan, self.context, self._graphs, inputs)
            for watch in self._watches:
                watch.renew()
        return self._step
