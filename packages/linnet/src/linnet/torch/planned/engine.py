"""Runs the items of a plan one after another."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from linnet.graph import Graph
from linnet.graph.kinds import SAME_ELEMENTS
from linnet.torch.dtypes import describe, describe_tensor, torch_dtype
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.items import Item, RegionItem, SliceItem


class Engine:
    """The items of one plan with the facts that running them needs."""

    def __init__(self, graph: Graph, items: Sequence[Item]) -> None:
        self.graph = graph
        self.items = tuple(items)
        # What each item is the last to read, so that memory is free as soon as it can be.
        last: dict[int, int] = {}
        for n, item in enumerate(items):
            last.update((number, n) for number in (*item.inputs, *item.outputs))
        keep = {*graph.results, *(state.result for state in graph.states)}
        self._dying: list[list[int]] = [[] for _ in items]
        for number, n in last.items():
            if number not in keep:
                self._dying[n].append(number)
        regions = [item.region for item in items if isinstance(item, RegionItem)]
        #: The states that back ends write in place.
        self.states_in_place = tuple(dict.fromkeys(p for r in regions for p in r.states_written))
        self._paths = {p.value: p.path for p in graph.parameters}
        self._paths.update({s.value: s.path for s in graph.states})
        self._given = {item.value: n for n, item in enumerate(graph.inputs)}
        self._limits = self._find_limits()

    def _find_limits(self) -> dict[int, tuple[int, int, str]]:
        """Position of an entry input -> what its elements must lie between, and for whom."""
        found: dict[int, tuple[int, int, str]] = {}
        for item in self.items:
            if not isinstance(item, RegionItem):
                continue
            for need in item.executable.meta.requires or ():
                place = self._given.get(self._source(item.inputs[need.input]))
                if place is None:
                    continue
                least, greatest, who = found.get(place, (need.least, need.greatest, item.where()))
                if need.least > least or need.greatest < greatest:
                    who = item.where()
                found[place] = (max(least, need.least), min(greatest, need.greatest), who)
        return found

    def _source(self, number: int) -> int:
        """The value whose elements a value has: itself, or what it is a view of."""
        step = self.graph.producers.get(number)
        while step is not None and step.kind in SAME_ELEMENTS:
            number = step.operands[0]
            step = self.graph.producers.get(number)
        return number

    def check_requirements(self, inputs: Sequence[Tensor]) -> None:
        """IndexError for an entry input with an element that the back ends' regions cannot take.
        Reads no input that they require nothing of.
        """
        for place, (least, greatest, who) in self._limits.items():
            tensor = inputs[place]
            if tensor.numel() == 0:
                continue
            low, high = (int(bound) for bound in torch.aminmax(tensor.to("cpu", torch.int64)))
            if low < least or high > greatest:
                wrong = low if low < least else high
                raise IndexError(
                    f"{self.graph.entry}: input `{self.graph.inputs[place].name}`: expected values "
                    f"from {least} to {greatest} ({who}), got {wrong}"
                )

    def fragile_states(self, recorded: Container[int]) -> tuple[str, ...]:
        """The states that back ends write in place before or while something may fail, when the
        items at the positions `recorded` are replayed on inputs that met the requirements, and the
        others run one by one.
        """
        written: dict[str, None] = {}
        fragile: dict[str, None] = {}
        for position, item in enumerate(self.items):
            if isinstance(item, RegionItem):
                written.update(dict.fromkeys(item.region.states_written))
                fails = position not in recorded or not self._infallible(item)
            else:
                fails = position not in recorded
            if fails:
                fragile.update(written)
        return tuple(fragile)

    def _infallible(self, item: RegionItem) -> bool:
        """Whether everything that a recorded region requires is checked before a replay."""
        needs = item.executable.meta.requires
        return needs is not None and all(
            self._source(item.inputs[need.input]) in self._given for need in needs
        )

    def run(
        self, inputs: Sequence[Tensor], context: PlanContext
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Runs everything. Returns flat results, and by path the new states that the generated
        source computed: the caller stores those. States that back ends wrote in place are as they
        were if this raises.
        """
        known: dict[int, Tensor] = dict(
            zip((item.value for item in self.graph.inputs), inputs, strict=True)
        )
        written: dict[str, Tensor] = {}
        with torch.no_grad(), restored(self.states_in_place, context.parameters):
            for item, dying in zip(self.items, self._dying, strict=True):
                self.run_item(item, known, written, context)
                for number in dying:
                    known.pop(number, None)
        return self.results(known, context), written

    def results(self, known: Mapping[int, Tensor], context: PlanContext) -> list[Tensor]:
        """The entry's flat results; one may be an input, a parameter, a state or a constant."""
        found = []
        for number in self.graph.results:
            if number in known:
                found.append(known[number])
            elif (literal := self.graph.literal(number)) is not None:
                dtype = torch_dtype(self.graph.values[number].dtype)
                device = context.device
                found.append(torch.tensor(literal, dtype=dtype, device=device))
            else:
                found.append(context.parameters[self._paths[number]])
        return found

    def run_item(
        self,
        item: Item,
        known: dict[int, Tensor],
        written: dict[str, Tensor],
        context: PlanContext,
    ) -> None:
        """Runs one item on the values in `known` and adds what it makes."""
        inputs = [known[number] for number in item.inputs]
        try:
            if isinstance(item, SliceItem):
                outputs, new_states = item.runner.run(inputs, context.parameters.__getitem__)
                written.update(new_states)
            else:
                outputs = self.execute(item, inputs, [None] * len(item.outputs), context)
        except Exception as error:
            raise located(error, f"{self.graph.entry}: {item.where()}") from error
        known.update(zip(item.outputs, outputs, strict=True))

    def execute(
        self,
        item: RegionItem,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor | None],
        context: PlanContext,
    ) -> list[Tensor]:
        """Runs a region on its back end, and checks that what it returns is what the graph says."""
        made = list(item.executable.execute(inputs, outputs, context))
        if len(made) != len(item.outputs):
            raise RuntimeError(f"execute returned {len(made)} outputs, not {len(item.outputs)}")
        for number, tensor in zip(item.outputs, made, strict=True):
            value = self.graph.values[number]
            if not isinstance(tensor, Tensor):
                raise RuntimeError(f"execute returned a {type(tensor).__name__}, not a tensor")
            if tuple(tensor.shape) != value.shape or tensor.dtype != torch_dtype(value.dtype):
                raise RuntimeError(
                    f"execute returned {describe_tensor(tensor)}, not "
                    f"{describe(value.shape, value.dtype)}"
                )
            if tensor.device != context.device:
                raise RuntimeError(
                    f"execute returned a tensor on {tensor.device}, not {context.device}"
                )
        return made


@contextmanager
def restored(paths: Iterable[str], parameters: Mapping[str, Tensor]) -> Iterator[None]:
    """Puts the states at `paths` back as they were when the code inside raises."""
    backups = {path: parameters[path].clone() for path in paths}
    try:
        yield
    except BaseException:
        with torch.no_grad():
            for path, backup in backups.items():
                parameters[path].copy_(backup)
        raise


def located(error: Exception, where: str) -> Exception:
    """The error with its place in front, of the same kind where callers tell kinds apart."""
    for kind in (IndexError, ValueError, TypeError, NotImplementedError, MemoryError):
        if isinstance(error, kind):
            return kind(f"{where}: {error}")
    return RuntimeError(f"{where}: {error}")
