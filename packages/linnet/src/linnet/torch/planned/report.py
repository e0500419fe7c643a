"""What a plan runs where, and why: as text for people and as data for programs."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from linnet.graph import Graph, Step
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned.items import RegionItem, place
from linnet.torch.planned.measure import read_bandwidth

if TYPE_CHECKING:
    from linnet.torch.planned.plan import Plan


@dataclass(frozen=True)
class RegionRow:
    """A region that a back end runs; times in seconds, None where they were not measured."""

    backend: str
    place: str
    steps: int
    callee: str | None
    backend_seconds: float | None
    generated_seconds: float | None
    holds: int


@dataclass(frozen=True)
class RefusedRow:
    """A region that was offered or a back end that was asked, and why it does not run."""

    backend: str
    place: str | None
    reason: str


@dataclass(frozen=True)
class SliceRow:
    """Steps that generated source runs."""

    place: str
    steps: int


@dataclass(frozen=True)
class Report:
    """The facts of a plan; the text shows equal rows once, with how many there are.

    `predicted_seconds` of a step: all generated source, less what the regions save. `step_bytes` is
    what one step must read at least: the weights and inputs it uses, once. `floor_seconds` is the
    time that takes at the machine's measured read bandwidth. Times are None where nothing was
    measured, in this call or earlier.
    """

    entry: str
    inputs: str
    target: str
    regions: tuple[RegionRow, ...]
    refused: tuple[RefusedRow, ...]
    slices: tuple[SliceRow, ...]
    steps: int
    predicted_saving: float | None
    predicted_seconds: float | None
    planned_seconds: float | None
    generated_seconds: float | None
    selection: str
    other_selection_saving: float | None
    step_bytes: int
    floor_seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """The report as dictionaries, lists, numbers and strings."""
        return {"version": 1, **asdict(self)}

    def __str__(self) -> str:
        text = io.StringIO()
        console = Console(file=text, width=100, color_system=None)
        console.print(f"plan of entry {self.entry} ({self.inputs}) on {self.target}")
        console.print(_region_table(self.regions))
        covered = sum(row.steps for row in self.regions)
        console.print(
            f"back ends run {covered} of {self.steps} steps; generated source runs the rest in "
            f"{len(self.slices)} slices"
        )
        for row, count in Counter(self.slices).items():
            console.print(f"  {row.place}: {_steps(row.steps)}{_times_of(count)}")
        if self.refused:
            console.print("not run by a back end:")
            for refusal, count in Counter(self.refused).items():
                where = f", {refusal.place}" if refusal.place else ""
                console.print(f"  {refusal.backend}{where}: {refusal.reason}{_times_of(count)}")
        console.print("\n".join(self._times()))
        return text.getvalue()

    def _times(self) -> list[str]:
        lines = []
        if self.predicted_saving is not None:
            line = f"predicted to save {_time(self.predicted_saving)} a step"
            if self.predicted_seconds is not None:
                line += f", and so to take {_time(self.predicted_seconds)}"
            lines.append(line)
        if self.other_selection_saving is not None:
            other = "exact" if self.selection == "greedy" else "greedy"
            lines.append(f"{other} selection would save {_time(self.other_selection_saving)}")
        if self.planned_seconds is not None:
            lines.append(
                f"measured {_time(self.planned_seconds)} a step, all generated "
                f"{_time(self.generated_seconds)}"
            )
        if self.floor_seconds is not None:
            share = ""
            if self.planned_seconds:
                share = f", {self.floor_seconds / self.planned_seconds:.0%} of the measured step"
            lines.append(
                f"reading {self.step_bytes / 1e6:.1f} MB takes at least "
                f"{_time(self.floor_seconds)}{share}"
            )
        return lines


def make_report(plan: Plan) -> Report:
    """The report of a plan."""
    graph = plan.graph
    measured = plan.times.planned is not None
    step_bytes = _step_bytes(plan)
    saved = [
        item.generated_seconds - item.backend_seconds
        for item in plan.regions
        if item.generated_seconds is not None and item.backend_seconds is not None
    ]
    saving = sum(saved) if len(saved) == len(plan.regions) and saved else None
    generated = plan.times.generated
    bandwidth = read_bandwidth(str(plan.model.device)) if measured else None
    return Report(
        entry=graph.entry,
        inputs=plan.signature(),
        target=f"{plan.target.kind}:{plan.target.index} {plan.target.name}",
        regions=tuple(_region_row(plan, item) for item in plan.regions),
        refused=tuple(
            RefusedRow(
                refusal.backend,
                None
                if refusal.region is None or refusal.region.problem is not None
                else place(refusal.region.span, refusal.region.steps),
                refusal.reason,
            )
            for refusal in plan.refusals
        ),
        slices=tuple(
            SliceRow(place(item.span, item.portion.steps), len(item.portion.steps))
            for item in plan.slices
        ),
        steps=len(graph.steps),
        predicted_saving=saving,
        predicted_seconds=None if saving is None or generated is None else generated - saving,
        planned_seconds=plan.times.planned,
        generated_seconds=generated,
        selection=plan.times.selection,
        other_selection_saving=plan.times.other_selection,
        step_bytes=step_bytes,
        floor_seconds=step_bytes / bandwidth if bandwidth else None,
    )


def _region_row(plan: Plan, item: RegionItem) -> RegionRow:
    region = item.region
    return RegionRow(
        item.backend.name,
        place(region.span, region.steps),
        len(region.steps),
        None if region.call is None else plan.graph.calls[region.call].callee,
        item.backend_seconds,
        item.generated_seconds,
        item.executable.meta.holds,
    )


def _step_bytes(plan: Plan) -> int:
    """Bytes of inputs and weights that a step reads: tied weights once, and of a table that is
    only read at positions the rows that are read.
    """
    graph, model = plan.graph, plan.model
    total = sum(_bytes(graph, item.value) for item in graph.inputs)
    whole: dict[tuple[int, int], int] = {}
    for parameter in graph.parameters:
        readers = graph.readers.get(parameter.value, ())
        if readers and all(_reads_rows(step, parameter.value) for step in readers):
            total += sum(_bytes(graph, step.results[0]) for step in readers)
        else:
            tensor = model.tensor(parameter.path)
            whole[tensor.data_ptr(), tensor.nbytes] = tensor.nbytes
    return total + sum(whole.values())


def _reads_rows(step: Step, number: int) -> bool:
    return step.kind == "element" and step.operands.count(number) == step.operands[:1].count(number)


def _bytes(graph: Graph, number: int) -> int:
    value = graph.values[number]
    return prod(value.shape) * torch_dtype(value.dtype).itemsize


def _region_table(rows: tuple[RegionRow, ...]) -> Table:
    table = Table(
        "back end", "source", "computes", "times", "back end's time", "generated", "holds"
    )
    for row, count in Counter(rows).items():
        table.add_row(
            row.backend,
            row.place,
            row.callee.rsplit("::", 1)[-1] if row.callee else _steps(row.steps),
            str(count),
            _time(row.backend_seconds),
            _time(row.generated_seconds),
            f"{row.holds / 1e6:.1f} MB" if row.holds else "",
        )
    return table


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.1f} us" if abs(seconds) < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _times_of(count: int) -> str:
    return "" if count == 1 else f" ({count} times)"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
