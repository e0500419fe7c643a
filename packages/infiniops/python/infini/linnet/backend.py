"""The back end: regions of a Linnet graph that InfiniOps' operators compute."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor

import infini.ops
from infini.linnet.fused import fused_regions
from infini.linnet.program import Program
from infini.linnet.runtime_device import RuntimeDevice, runtime_device
from infini.linnet.single import program_of, region_of_call
from infini.linnet.table import Mapped, devices_of, read_operators, read_table
from linnet.backends import Capabilities, Cost, Look, Options, Place, Region, Target
from linnet.graph import Graph, literal_steps

if TYPE_CHECKING:
    from infini.linnet.recorder import GraphRecorder

_native: Any = importlib.import_module("infini.ops._native")

#: Steps and call of a region -> how it is computed.
Found: TypeAlias = dict[tuple[tuple[int, ...], int | None], Program]


class InfiniOps:
    """Runs the ops and steps that operators of this InfiniOps build compute, on the CPU and on
    PyTorch's device `infini`.

    A region is one op's call, one step, or neighbours that a few operators compute together.
    Results differ from the generated source within the operators' tolerances: `rms_norm`, for
    one, rounds once, after the weight.
    """

    name = "infiniops"
    contract = 1

    def __init__(self) -> None:
        self.version = infini.ops.__version__
        path = infini.ops.operators_json()
        table = read_table(path)
        self._devices = {name: devices_of(one) for name, one in read_operators(path).items()}
        self._last: tuple[Graph | None, Found] = (None, {})
        self._ops: dict[str, list[Mapped]] = {}
        self._steps: dict[str, list[Mapped]] = {}
        for mapped in table:
            if mapped.op is not None:
                self._ops.setdefault(mapped.op, []).append(mapped)
            elif mapped.step is not None:
                self._steps.setdefault(mapped.step, []).append(mapped)

    def probe(self, target: Target) -> Capabilities | None:
        """The CPU and the device `infini`, if this build has kernels for them."""
        device = runtime_device(target)
        known = device is not None and any(device.backend in one for one in self._devices.values())
        return Capabilities() if known else None

    def match(self, graph: Graph, target: Target) -> Iterator[Region]:
        """Fusions, calls of mapped ops, and mapped steps outside those calls."""
        for steps, call in self._find(graph, target):
            yield Region(graph, steps, call)

    def compile(self, region: Region, target: Target, options: Options) -> Program:
        """The region's operator calls with their arguments found."""
        graph, found = self._last
        if graph is not region.graph:
            found = self._find(region.graph, target)
        program = found.get((region.steps, region.call))
        if program is None:
            raise ValueError(f"infiniops: no operator computes this region ({region.steps})")
        return program.on(_device(target).torch_device)

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """Nothing is known without running."""
        return None

    def recorder(self, target: Target) -> GraphRecorder | None:
        """Records wherever the work runs.

        Raises:
            ImportError: The distribution infinirt is not installed, as the wheel of infiniops does
                not ask for it. Then regions run call by call.
        """
        device = runtime_device(target)
        if device is None:
            return None
        if find_spec("infini.rt") is None:
            raise ImportError(
                "the package infini.rt is not there, which captures and replays calls; "
                "pip install infinirt"
            )
        from infini.linnet.recorder import GraphRecorder

        return GraphRecorder(device)

    def look(self, places: Sequence[Place], tensors: Sequence[Tensor]) -> Look | None:
        """One pass over tables and tensors without Python; None for tensors that DLPack's C
        interface does not read.
        """
        try:
            found: Look = _native.Look(list(places), list(tensors))
        except TypeError:
            return None
        return found

    def _find(self, graph: Graph, target: Target) -> Found:
        """Everything that it can run in `graph`; remembered, since a plan asks for each region."""
        found: Found = {}
        for region, program in self._programs(graph, _device(target).backend):
            found.setdefault((region.steps, region.call), program)
        self._last = (graph, found)
        return found

    def _programs(self, graph: Graph, device: str) -> Iterator[tuple[Region, Program]]:
        operators = frozenset(name for name, found in self._devices.items() if device in found)
        for fused in fused_regions(graph, operators):
            yield fused.region, fused.program
        inside: set[int] = set()
        for call in graph.calls:
            if call.kind != "op":
                continue
            for mapped in self._ops.get(call.callee, ()):
                region = region_of_call(graph, call, mapped)
                if device not in mapped.devices or region is None:
                    continue
                program = program_of(graph, region, mapped)
                if program is not None:
                    inside.update(region.steps)
                    yield region, program
                    break
        # A plan makes once what depends on literals alone.
        inside |= literal_steps(graph)
        for step in graph.steps:
            for mapped in self._steps.get(step.kind, ()):
                if step.index in inside or device not in mapped.devices:
                    continue
                region = Region.of(graph, step.index, step.index + 1)
                program = program_of(graph, region, mapped)
                if program is not None:
                    yield region, program
                    break


def _device(target: Target) -> RuntimeDevice:
    device = runtime_device(target)
    if device is None:
        raise ValueError(f"infiniops: no device {target.kind}; import torch_infini for `infini`")
    return device
