"""Models and back ends that the tests of the PyTorch runtime share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from linnet.backends import Capabilities, Context, Cost, ExecutableMeta, Options, Region, Target
from linnet.graph import Graph
from linnet.torch import GraphProgram, LinnetModule, load_program
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned import Captured


def random_weights(graph: Graph, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        p.path: torch.randn(p.shape, generator=generator).to(torch_dtype(p.dtype))
        for p in graph.parameters
    }


def model_of(graph: Graph, **options: Any) -> LinnetModule:
    return load_program(GraphProgram([graph]), weights=random_weights(graph), **options)


def close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def inputs(rows: int = 3) -> list[Tensor]:
    """Inputs of `two_layer_graph`, the same each time."""
    return [torch.randn(rows, 8, generator=torch.Generator().manual_seed(rows))]


def captured(
    model: LinnetModule, inputs: Sequence[Any], *backends: Any, entry: str = "forward"
) -> Captured:
    """The step of an entry, planned without measuring."""
    plan = model.plan_for(entry, list(inputs), backends=backends, measure=False)
    return Captured(plan, model.context_for(plan))


def batch(seed: int, rows: int = 3) -> Tensor:
    """An input of `two_layer_graph`, another for each seed."""
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(seed))


TAKEN = ("std.nn.linear::linear", "std.nn.norm::rms_norm")


class Reference:
    """A back end that runs linear and rms_norm calls, and sums, with PyTorch.

    `faults` maps a region's number in `match` to what goes wrong there.
    """

    def __init__(self, name: str = "reference", version: str = "1", records: bool = True) -> None:
        self.name = name
        self.version = version
        self.contract = 1
        self.holds = 0
        self.reads_in_place = False
        self.compiled: list[Region] = []
        self.prepared: list[Region] = []
        self.executed: list[Region] = []
        self.recorders: list[ListRecorder] = []
        self.recorder: Any = self._recorder if records else None

    def probe(self, target: Target) -> Capabilities | None:
        return Capabilities() if target.kind == "cpu" else None

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        calls = [c for c in graph.calls if c.callee in TAKEN]
        inside = {n for c in graph.calls if c.kind == "op" for n in range(c.start, c.stop)}
        sums = [
            s
            for s in graph.steps
            if s.kind == "add"
            and s.index not in inside
            and all(graph.literal(n) is None for n in s.operands)
        ]
        found = [Region.of(graph, c.start, c.stop, c.index) for c in calls]
        return found + [Region.of(graph, s.index, s.index + 1) for s in sums]

    def compile(self, region: Region, target: Target, options: Options) -> ReferenceCall:
        self.compiled.append(region)
        return ReferenceCall(self, region)

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        return None

    def _recorder(self, target: Target) -> ListRecorder | None:
        self.recorders.append(ListRecorder())
        return self.recorders[-1]


class ReferenceCall:
    def __init__(self, backend: Reference, region: Region) -> None:
        self.backend = backend
        self.region = region
        self.meta = ExecutableMeta(holds=backend.holds, reads_in_place=backend.reads_in_place)

    def prepare(self, context: Context) -> None:
        self.backend.prepared.append(self.region)

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> Sequence[Tensor]:
        self.backend.executed.append(self.region)
        value = self.region.graph.values[self.region.outputs[0]]
        given = outputs[0]
        out = torch.empty(value.shape, dtype=torch_dtype(value.dtype)) if given is None else given
        weights = [context.parameters[path] for path in self.region.parameters]
        call = None if self.region.call is None else self.region.graph.calls[self.region.call]

        graph = self.region.graph
        paths = {p.value: p.path for p in graph.parameters}
        paths |= {s.value: s.path for s in graph.states}

        def operand(number: int) -> Tensor:
            if number in paths:
                return context.parameters[paths[number]]
            return inputs[self.region.inputs.index(number)]

        def work() -> None:
            if call is None:
                torch.add(*(operand(n) for n in graph.steps[self.region.start].operands), out=out)
            elif call.callee == "std.nn.linear::linear":
                out.copy_(functional.linear(inputs[0], *weights))
            else:
                out.copy_(functional.rms_norm(inputs[0], weights[0].shape, weights[0], 1e-5))

        do(work)
        return [out]


class _Recording(threading.local):
    current: ListRecorder | None = None


_recording = _Recording()


def do(work: Callable[[], None]) -> None:
    """Does it, or appends it to what this thread records."""
    recorder = _recording.current
    if recorder is None:
        work()
    else:
        recorder.work.append(work)


class ListRecorder:
    """Keeps what executables would do as a list of functions."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        _recording.current = self
        try:
            yield
        finally:
            _recording.current = None

    def finish(self) -> ListReplay:
        return ListReplay(self.work)


class ListReplay:
    def __init__(self, work: Sequence[Callable[[], None]]) -> None:
        self.work = work
        self.calls = len(work)
        self.runs = 0

    def run(self) -> None:
        self.runs += 1
        for one in self.work:
            one()
