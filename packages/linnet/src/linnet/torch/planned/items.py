"""What a plan runs, in order: regions on back ends, and slices of generated source between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from linnet.backends import Backend, Executable, Region
from linnet.graph import Graph, SourceSpan, literal_steps
from linnet.torch.runner import Runner
from linnet.torch.stages import Portion


@dataclass(frozen=True)
class RegionItem:
    """A region that a back end runs. The times are seconds of one run, None where unknown."""

    region: Region
    backend: Backend
    executable: Executable = field(compare=False)
    backend_seconds: float | None = None
    generated_seconds: float | None = None

    @property
    def reads_in_place(self) -> bool:
        """Whether nothing is kept of what its weights hold; an older executable does not say."""
        return getattr(self.executable.meta, "reads_in_place", False)

    @property
    def inputs(self) -> tuple[int, ...]:
        """Values that it reads from earlier items."""
        return self.region.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Values that it makes."""
        return self.region.outputs

    def where(self) -> str:
        """The back end and the place in the source, for messages."""
        return f"back end {self.backend.name}, {place(self.region.span, self.region.steps)}"


@dataclass(frozen=True)
class SliceItem:
    """Steps that no back end took, as generated source."""

    portion: Portion
    runner: Runner = field(compare=False)
    span: SourceSpan | None = None

    @property
    def inputs(self) -> tuple[int, ...]:
        """Values that it reads from earlier items."""
        return self.portion.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Values that it makes."""
        return self.portion.outputs

    def where(self) -> str:
        """The place in the source, for messages."""
        return f"generated source, {place(self.span, self.portion.steps)}"


Item = RegionItem | SliceItem


def place(span: SourceSpan | None, steps: Sequence[int]) -> str:
    """`model.linnet:12`, or the steps where the source is unknown."""
    if span is not None:
        return f"{span.file}:{span.line}"
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"


def arrange(
    graph: Graph, regions: Sequence[RegionItem], runner: Callable[[Portion], Runner]
) -> tuple[Item, ...]:
    """Regions at their places, and between them the steps that are left as slices.

    Steps that depend on literals alone come first, as a slice of their own that a captured step
    runs once. Writes to states that no region does come last: they are stored when the step has
    succeeded anyway, and so they do not part regions that could be recorded as one. `runner` makes
    the generated source of a portion.
    """
    covered = {n for item in regions for n in item.region.steps}
    starts = {item.region.start: item for item in regions}
    left = [n for n in range(len(graph.steps)) if n not in covered or n in starts]
    free = [n for n in left if n not in starts]
    constant = literal_steps(graph, among=free)
    early = [n for n in free if n in constant]
    writes = [n for n in free if graph.steps[n].kind == "state_write"]
    moved = {*early, *writes}
    items: list[Item | list[int]] = [early] if early else []
    apart = bool(early)
    for position in [*(n for n in left if n not in moved), *writes]:
        if position in starts:
            items.append(starts[position])
            apart = False
            continue
        if apart or not items or not isinstance(items[-1], list):
            items.append([])
            apart = False
        last = items[-1]
        assert isinstance(last, list)
        last.append(position)
    arranged: list[Item] = []
    for item in items:
        if isinstance(item, list):
            portion = portion_of(graph, item)
            span = next((s for n in item if (s := graph.steps[n].span) is not None), None)
            arranged.append(SliceItem(portion, runner(portion), span))
        else:
            arranged.append(item)
    return tuple(arranged)


def portion_of(graph: Graph, steps: Sequence[int]) -> Portion:
    """The portion that runs `steps`: what it reads from others and what others read of it."""
    own = set(steps)
    made = {number for n in steps for number in graph.steps[n].results}
    reads = dict.fromkeys(number for n in steps for number in graph.steps[n].reads)
    inputs = tuple(
        n for n in reads if n not in made and graph.values[n].origin in ("input", "step")
    )
    returned = set(graph.results)
    outputs = []
    for n in steps:
        for number in graph.steps[n].results:
            readers = graph.readers.get(number, ())
            if number in returned or any(reader.index not in own for reader in readers):
                outputs.append(number)
    return Portion(tuple(steps), inputs, tuple(outputs))
