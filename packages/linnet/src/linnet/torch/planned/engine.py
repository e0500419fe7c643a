"""Runs the items of a plan one after another."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor

from linnet.graph import Graph
from linnet.graph.kinds import SAME_ELEMENTS
from linnet.torch.cache_writes import position_bounds
from linnet.torch.dtypes import describe, describe_tensor, torch_dtype
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.items import Item, RegionItem, SliceItem
from linnet.torch.planned.items import place as place_of

#: Place of an entry input -> what its elements must lie between, and for whom.
Limits: TypeAlias = "dict[int, tuple[int, int, str]]"
#: Views of all the elements of their operand.
_WHOLE = SAME_ELEMENTS - {"slice"}
#: Inputs up to this size are read as Python numbers, which takes less time than reducing them.
_FEW = 16


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
        self._given = {item.value: n for n, item in enumerate(graph.inputs)}
        self._required = self._find_required()

    def _find_required(self) -> Limits:
        """What back ends require of entry inputs, and what writes to caches do, whoever makes
        them: the steps of one may lie in several items, none of which knows that it is one.
        """
        found: Limits = {}
        for call in self.graph.calls:
            for bound in position_bounds(self.graph, call):
                place = self._given.get(self._source(bound.value, _WHOLE))
                if place is not None:
                    steps = range(call.start, call.stop)
                    name = call.callee.rpartition("::")[2]
                    who = f"{name}, {place_of(call.span, steps)}"
                    _tighten(found, place, 0, bound.greatest, who)
        for item in self.items:
            if not isinstance(item, RegionItem):
                continue
            for need in item.executable.meta.requires or ():
                place = self._given.get(self._source(item.inputs[need.input]))
                if place is not None:
                    _tighten(found, place, need.least, need.greatest, item.where())
        return found

    @cached_property
    def _positions(self) -> Limits:
        """What generated source reads entry inputs as positions of."""
        found: Limits = {}
        for item in self.items:
            if not isinstance(item, SliceItem):
                continue
            steps = (self.graph.steps[n] for n in item.portion.steps)
            for step in (step for step in steps if step.kind == "element"):
                shape = self.graph.values[step.operands[0]].shape
                for axis, number in zip(step.attributes["axes"], step.operands[1:], strict=True):
                    place = self._given.get(self._source(number, _WHOLE))
                    if place is not None:
                        _tighten(found, place, 0, shape[axis] - 1, item.where())
        return found

    def _source(self, number: int, kinds: Collection[str] = SAME_ELEMENTS) -> int:
        """The value whose elements a value has: itself, or what it is a view of by `kinds`."""
        step = self.graph.producers.get(number)
        while step is not None and step.kind in kinds:
            number = step.operands[0]
            step = self.graph.producers.get(number)
        return number

    def check_requirements(self, inputs: Sequence[Tensor]) -> None:
        """IndexError for an entry input with an element that the back ends' regions cannot take,
        or that is a position outside a cache. Reads no input that nothing is required of.
        """
        self._check(self._required, inputs)

    def check_positions(self, inputs: Sequence[Tensor]) -> None:
        """IndexError for an entry input with a position that generated source would read outside
        an axis. It checks positions itself, except inside a graph of the device.
        """
        self._check(self._positions, inputs)

    def _check(self, limits: Limits, inputs: Sequence[Tensor]) -> None:
        for place, (least, greatest, who) in limits.items():
            tensor = inputs[place]
            if tensor.numel() == 0:
                continue
            low, high = _extremes(tensor)
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
        """Checks what is required of the inputs, and runs everything. Returns flat results, and by
        path the new states that the generated source computed: the caller stores those. States
        that back ends wrote in place are as they were if this raises.
        """
        self.check_requirements(inputs)
        with torch.no_grad(), restored(self.states_in_place, context.parameters):
            return self.run_items(inputs, context)

    def run_items(
        self, inputs: Sequence[Tensor], context: PlanContext
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """`run` without putting states back, and with gradients as the caller has them."""
        known: dict[int, Tensor] = dict(
            zip((item.value for item in self.graph.inputs), inputs, strict=True)
        )
        written: dict[str, Tensor] = {}
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
                # Filled on the device: a graph of the device records no copy from the host.
                dtype = torch_dtype(self.graph.values[number].dtype)
                found.append(torch.full((), literal, dtype=dtype, device=context.device))
            else:
                found.append(context.parameters[self.graph.paths[number]])
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


def _tighten(limits: Limits, place: int, least: int, greatest: int, who: str) -> None:
    """Narrows what an input's elements must lie between; the narrowest asks last."""
    old = limits.get(place, (least, greatest, who))
    if least > old[0] or greatest < old[1]:
        old = (old[0], old[1], who)
    limits[place] = (max(old[0], least), min(old[1], greatest), old[2])


def _extremes(tensor: Tensor) -> tuple[int, int]:
    """The least and the greatest element of an integer tensor that is not empty."""
    if tensor.numel() <= _FEW:
        found = tensor.flatten().tolist()
        return min(found), max(found)
    low, high = torch.aminmax(tensor.to("cpu", torch.int64))
    return int(low), int(high)


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
