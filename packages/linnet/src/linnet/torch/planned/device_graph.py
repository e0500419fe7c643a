"""A whole step as one graph of the device: what CUDA graphs do."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from linnet.torch.module import commit
from linnet.torch.operations import unchecked_positions
from linnet.torch.planned.capture_report import CaptureReport, step_count, unrecorded_rows
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import located
from linnet.torch.planned.plan import Plan
from linnet.torch.planned.proposals import describe_failure
from linnet.torch.planned.recording import RecordingWarning


class DeviceGraphs(Protocol):
    """Captures work that is queued on a device."""

    def capture(self, work: Callable[[], list[Tensor]]) -> tuple[list[Tensor], Callable[[], None]]:
        """Calls `work` once, and records what it queues instead of running it. Returns the tensors
        that `work` returned, whose content each replay renews, and what replays it. Raises where
        the work cannot be captured.
        """
        ...


class CudaGraphs:
    """CUDA graphs of a device, by PyTorch."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def capture(self, work: Callable[[], list[Tensor]]) -> tuple[list[Tensor], Callable[[], None]]:
        """See `DeviceGraphs`. Other threads may use the device meanwhile."""
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, capture_error_mode="thread_local"),
        ):
            made = work()
        return made, graph.replay


def device_graphs(device: torch.device) -> DeviceGraphs | None:
    """What captures work of a device; None where a device has no such graphs."""
    return CudaGraphs(device) if device.type == "cuda" else None


class GraphStep:
    """A plan's step in one graph. Inputs are copied to fixed places, and results out of them.

    Where the step cannot be captured it is run item by item, with a `RecordingWarning` and the
    reason in the report.
    """

    def __init__(
        self, plan: Plan, context: PlanContext, graphs: DeviceGraphs, inputs: Sequence[Tensor]
    ) -> None:
        self._plan = plan
        self._context = context
        self._states = {s.path: context.parameters[s.path] for s in plan.graph.states}
        self._inputs = [tensor.clone(memory_format=torch.contiguous_format) for tensor in inputs]
        self._warm_up()
        self._made: list[Tensor] = []
        self._replay: Callable[[], None] | None = None
        self._reason = ""
        try:
            with unchecked_positions():
                self._made, self._replay = graphs.capture(self._work)
        except Exception as error:
            self._reason = f"the step cannot be captured: {describe_failure(error)}"
            warnings.warn(f"{plan.graph.entry}: {self._reason}", RecordingWarning, stacklevel=4)

    def _warm_up(self) -> None:
        """Runs the step and puts the states back: what libraries load, choose and allocate at
        first use must not be part of a graph.
        """
        in_place = {path: self._states[path] for path in self._plan.engine.states_in_place}
        before = {path: state.clone() for path, state in in_place.items()}
        try:
            self._plan.engine.run_items(self._inputs, self._context)
        finally:
            for path, state in in_place.items():
                state.copy_(before[path])

    def _work(self) -> list[Tensor]:
        return self._commit(self._plan.engine.run_items(self._inputs, self._context))

    def _commit(self, made: tuple[list[Tensor], dict[str, Tensor]]) -> list[Tensor]:
        results, written = made
        return commit(results, written, self._states, self._plan.shared())

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The flat results for bound inputs, as tensors of the caller's own. IndexError names an
        input with a position that the step cannot take; the device is not asked then.
        """
        engine = self._plan.engine
        if self._replay is None:
            return self._commit(engine.run(inputs, self._context))
        engine.check_requirements(inputs)
        engine.check_positions(inputs)
        for fixed, tensor in zip(self._inputs, inputs, strict=True):
            fixed.copy_(tensor)
        try:
            self._replay()
        except Exception as error:
            raise located(error, f"{self._plan.graph.entry}: replay of the graph") from error
        return [tensor.clone() for tensor in self._made]

    def report(self) -> CaptureReport:
        """Everything is recorded, or nothing is, with the reason."""
        items, steps = self._plan.items, len(self._plan.graph.steps)
        reasons = dict.fromkeys(range(len(items)), self._reason) if self._reason else {}
        recorded = self._replay is not None
        return CaptureReport(
            entry=self._plan.graph.entry,
            steps=steps,
            recorded_steps=step_count(items) if recorded else 0,
            once_steps=0,
            parts=int(recorded),
            calls=None,
            arena_bytes=None,
            value_bytes=None,
            unrecorded=unrecorded_rows(items, reasons),
        )
