"""How much of a captured step is recorded, and why the rest is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from linnet.torch.planned.items import Item, RegionItem, place


@dataclass(frozen=True)
class UnrecordedRow:
    """Steps that a replay runs one by one, and why."""

    place: str
    steps: int
    reason: str


@dataclass(frozen=True)
class CaptureReport:
    """How much of a step is recorded: steps of the graph, kernel calls, bytes of the arena.

    `value_bytes` is what the values in the arena would take one by one. `once_steps` cost a replay
    nothing: they were done when the step was recorded. A graph of the device is one part; its
    kernel calls are not counted, and its memory is the device's: None.
    """

    entry: str
    steps: int
    recorded_steps: int
    once_steps: int
    parts: int
    calls: int | None
    arena_bytes: int | None
    value_bytes: int | None
    unrecorded: tuple[UnrecordedRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as dictionaries, lists, numbers and strings."""
        return {"version": 1, **asdict(self)}

    def __str__(self) -> str:
        share = (self.recorded_steps + self.once_steps) / self.steps if self.steps else 1.0
        line = f"captured step of entry {self.entry}: {share:.0%} of {self.steps} steps recorded"
        if self.calls is not None and self.arena_bytes is not None:
            line += (
                f", {self.calls} kernel calls in {self.parts} parts, {self.arena_bytes} bytes for "
                f"{self.value_bytes} bytes of values"
            )
        elif self.parts:
            line += " in one graph of the device"
        lines = [line]
        for row, count in Counter(self.unrecorded).items():
            times = "" if count == 1 else f" ({count} times)"
            lines.append(f"  {row.place}, {row.steps} steps: {row.reason}{times}")
        return "\n".join(lines)


def step_count(items: Iterable[Item]) -> int:
    """How many steps of the graph the items run."""
    return sum(
        len(item.region.steps if isinstance(item, RegionItem) else item.portion.steps)
        for item in items
    )


def unrecorded_rows(items: Sequence[Item], reasons: Mapping[int, str]) -> tuple[UnrecordedRow, ...]:
    """A row for each item at a position that `reasons` has."""
    rows = []
    for position, reason in sorted(reasons.items()):
        item = items[position]
        if isinstance(item, RegionItem):
            where = f"{item.backend.name}, {place(item.region.span, item.region.steps)}"
        else:
            where = place(item.span, item.portion.steps)
        rows.append(UnrecordedRow(where, step_count([item]), reason))
    return tuple(rows)
