"""Divides the steps of generated source by what they depend on, and groups them into units.

A unit is what one line of source computes: a step, a whole call that one library function
computes or that writes a state in place, or sibling products that one product computes. Units that
would compute the same are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Literal, TypeAlias

from linnet.graph import Call, Graph, SourceSpan, Step
from linnet.graph.kinds import VIEWS
from linnet.torch.cache_writes import Bound, may_fail, position_bounds, state_written_whole
from linnet.torch.dtypes import torch_dtype
from linnet.torch.library_calls import library_call

Stage: TypeAlias = Literal["constants", "prepare", "main"]
#: Whether the parameters at these paths lie, or can be laid, one after another in one buffer.
Joins: TypeAlias = Callable[[Sequence[str]], bool]


@dataclass(frozen=True)
class Portion:
    """Steps of a graph to be written as one function: positions of the steps, and the numbers of
    the values it takes and gives.
    """

    steps: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @staticmethod
    def whole(graph: Graph) -> Portion:
        """All of an entry: it takes the inputs and gives the results."""
        inputs = tuple(item.value for item in graph.inputs)
        return Portion(tuple(range(len(graph.steps))), inputs, graph.results)


@dataclass(frozen=True)
class Unit:
    """What one line computes. Exactly one of `step`, `call` and `siblings` is set. `state` is the
    path of the state that a call writes in place; `checks` are what must hold before it runs. A
    call with `replaced` runs its steps and takes its gradients from its `grad` clause.
    """

    results: tuple[int, ...]
    reads: tuple[int, ...]
    span: SourceSpan | None
    stage: Stage
    step: Step | None = None
    call: Call | None = None
    siblings: tuple[Call, ...] = ()
    state: str | None = None
    checks: tuple[Bound, ...] = ()
    replaced: bool = False


@dataclass(frozen=True)
class Division:
    """The units of a portion in order, and the state results that its writes leave, but for states
    written in place. `checks` are what must hold of the portion's inputs, and `same` maps values
    that are computed by another unit already to that unit's.
    """

    units: tuple[Unit, ...]
    written: tuple[tuple[str, int], ...]
    checks: tuple[Bound, ...] = ()
    same: Mapping[int, int] = field(default_factory=dict)

    def of(self, stage: Stage) -> tuple[Unit, ...]:
        """The units of one stage."""
        return tuple(unit for unit in self.units if unit.stage == stage)


def divide(
    graph: Graph,
    portion: Portion,
    numerics: str = "fast",
    fold_weights: bool = True,
    joins: Joins | None = None,
    in_place: bool = False,
) -> Division:
    """The units that the portion's outputs and state writes need.

    `fold_weights=False`, for training, leaves arithmetic on weights in `main`. With `in_place`,
    caches are written in place where nothing that comes later can fail.
    """
    steps = [graph.steps[n] for n in portion.steps]
    written = tuple(
        (s.attributes["state"], s.operands[0])
        for s in steps
        if s.kind == "state_write" and graph.last_writes[s.attributes["state"]] is s
    )
    first, later = _checks(graph, portion)
    training = not fold_weights
    units = _with_calls(graph, portion, steps, written, numerics, in_place, later, training)
    wanted = {*portion.outputs, *(number for _, number in written)}
    units, same = _without_repeats(graph, units, wanted)
    if joins is not None:
        units = _joined(graph, units, joins)
    live: list[Unit] = []
    for unit in reversed(units):
        if wanted.intersection(unit.results):
            wanted.update(unit.reads)
            live.append(unit)
    staged = tuple(_staged(graph, live[::-1], fold_weights))
    stored = {unit.state for unit in staged}
    return Division(staged, tuple(w for w in written if w[0] not in stored), first, same)


def _checks(graph: Graph, portion: Portion) -> tuple[tuple[Bound, ...], dict[int, list[Bound]]]:
    """What the positions of cache writes must be: of the portion's inputs and of literals, and by
    the step before which it is known, of values made inside.
    """
    own = set(portion.steps)
    first: dict[Bound, None] = {}
    later: dict[int, list[Bound]] = {}
    seen: set[Bound] = set()
    for call in graph.calls:
        if call.stop - 1 not in own:
            continue
        known = call.start if call.start in own else call.stop - 1
        for bound in position_bounds(graph, call):
            literal = graph.literal(bound.value)
            if literal is not None and 0 <= literal <= bound.greatest:
                continue
            if literal is not None or bound.value in portion.inputs:
                first[bound] = None
            elif _made_in(graph, own, bound.value) and bound not in seen:
                seen.add(bound)
                later.setdefault(known, []).append(bound)
    return tuple(first), later


def _made_in(graph: Graph, own: set[int], number: int) -> bool:
    step = graph.producers.get(number)
    return step is not None and step.index in own


def _without_repeats(
    graph: Graph, units: Sequence[Unit], kept: set[int]
) -> tuple[list[Unit], dict[int, int]]:
    """The units without those that compute what an earlier one does, and value -> equal value.
    Values in `kept` stay apart, since the caller may write one of them.
    """
    same: dict[int, int] = {}
    seen: dict[object, Unit] = {}
    found = []
    for unit in units:
        reads = tuple(same.get(n, n) for n in unit.reads)
        unit = replace(unit, reads=reads)
        step = unit.step
        repeats = step is None or step.bodies or unit.checks
        if not repeats and step is not None:
            operands = tuple(same.get(n, n) for n in step.operands)
            value = graph.values[step.results[0]]
            key = (step.kind, operands, repr(step.attributes), value.shape, value.dtype)
            earlier = seen.setdefault(key, unit)
            if earlier is not unit and not kept.intersection(unit.results):
                same.update(zip(unit.results, earlier.results, strict=True))
                continue
        found.append(unit)
    return found, same


def _with_calls(
    graph: Graph,
    portion: Portion,
    steps: Sequence[Step],
    written: Sequence[tuple[str, int]],
    numerics: str,
    in_place: bool,
    checks: Mapping[int, Sequence[Bound]],
    training: bool,
) -> list[Unit]:
    own = set(portion.steps)
    outside = {*portion.outputs, *(number for _, number in written)}
    covered: dict[int, Call] = {}
    reads: dict[int, tuple[int, ...]] = {}
    states: dict[int, str] = {}
    starting = (graph.calls_by_start.get(n, ()) for n in sorted(own))
    for call in (call for calls in starting for call in calls):
        inside = range(call.start, call.stop)
        if not inside or not own.issuperset(inside) or any(n in covered for n in inside):
            continue
        state = state_written_whole(graph, call) if in_place and numerics != "exact" else None
        replaced = training and call.gradient is not None
        used: dict[int, None] = dict.fromkeys(call.operands if state or replaced else ())
        if replaced:
            covered.update(dict.fromkeys(inside, call))
            reads[call.start] = tuple(dict.fromkeys((*used, *_outer_reads(graph, call))))
            continue
        if state is None and library_call(graph, call, partial(_noted, used), numerics) is None:
            continue
        hidden = {n for k in inside for n in graph.steps[k].results} - set(call.results)
        seen = {r.index for n in hidden for r in graph.readers.get(n, ())}
        if hidden & outside or not seen <= set(inside):
            continue
        covered.update(dict.fromkeys(inside, call))
        reads[call.start] = tuple(used)
        if state is not None:
            states[call.start] = state
    last = max(
        (
            *(s.index for s in steps if s.index not in covered and may_fail(graph, s)),
            *(start for start in checks if start in own),
        ),
        default=-1,
    )
    for start in [start for start in states if start < last]:
        # Something later may fail, and then the state must be as it was.
        call = covered[start]
        for n in range(call.start, call.stop):
            del covered[n]
        del states[start]
    units: list[Unit] = []
    for step in steps:
        owner = covered.get(step.index)
        needs = tuple(checks.get(step.index, ()))
        checked = tuple(bound.value for bound in needs)
        if owner is None:
            if step.kind != "state_write":
                taken = tuple(dict.fromkeys((*step.reads, *checked)))
                results, span = step.results, step.span
                units.append(Unit(results, taken, span, "main", step=step, checks=needs))
        elif step.index == owner.start:
            taken = tuple(dict.fromkeys((*reads[owner.start], *checked)))
            state = states.get(owner.start)
            results, span = owner.results, owner.span
            replaced = training and owner.gradient is not None
            units.append(
                Unit(results, taken, span, "main", None, owner, (), state, needs, replaced)
            )
    return units


def _outer_reads(graph: Graph, call: Call) -> Iterator[int]:
    """What the steps and the gradient of a call read from outside it."""
    gradient = call.gradient
    assert gradient is not None
    own = (*graph.steps[call.start : call.stop], *gradient.steps)
    made = {*gradient.inputs, *(n for step in own for n in step.results)}
    for number in (*(n for step in own for n in step.reads), *gradient.outputs):
        if number not in made:
            yield number


def _noted(used: dict[int, None], number: int) -> str:
    """Notes which operands a spelling names."""
    used.setdefault(number)
    return f"v{number}"


def _joined(graph: Graph, units: list[Unit], joins: Joins) -> list[Unit]:
    """Products of one input with several weights, as one product where the weights can lie side
    by side.
    """
    groups: dict[int, list[int]] = {}
    for position, unit in enumerate(units):
        call = unit.call
        if call is None or call.callee != "std.nn.linear::linear":
            continue
        if len(unit.reads) != 2:  # a bias, or one value twice
            continue
        x, w = unit.reads
        if graph.values[w].origin == "parameter" and graph.values[x].origin in ("input", "step"):
            groups.setdefault(x, []).append(position)
    joined: dict[int, Unit | None] = {}
    for x, group in groups.items():
        calls = [call for n in group if (call := units[n].call) is not None]
        weights = [units[n].reads[1] for n in group]
        if len(group) < 2 or len(set(weights)) < len(weights):
            continue
        if not joins([graph.parameter_paths[w] for w in weights]):
            continue
        results = tuple(number for n in group for number in units[n].results)
        span = units[group[0]].span
        joined.update(dict.fromkeys(group, None))
        joined[group[0]] = Unit(results, (x, *weights), span, "main", siblings=tuple(calls))
    return [
        kept
        for position, unit in enumerate(units)
        if (kept := joined.get(position, unit)) is not None
    ]


#: The stage that can first read a value of an origin; `main` for others.
_ORIGINS: dict[str, Stage] = {
    "constant": "constants",
    "parameter": "prepare",
    "buffer": "prepare",
}


def _staged(graph: Graph, units: Sequence[Unit], fold_weights: bool) -> list[Unit]:
    stages: dict[int, Stage] = {}

    def stage_of(number: int) -> Stage:
        return stages.get(number) or _ORIGINS.get(graph.values[number].origin, "main")

    staged = []
    for unit in units:
        read = {stage_of(number) for number in unit.reads}
        stage: Stage = "main"
        if read <= {"constants"}:
            stage = "constants"
        elif read <= {"constants", "prepare"} and fold_weights:
            stage = "prepare"
        stages.update((number, stage) for number in unit.results)
        staged.append(replace(unit, stage=stage))
    return _without_large(graph, staged)


def _without_large(graph: Graph, units: Sequence[Unit]) -> list[Unit]:
    """Leaves in `main` what would keep more bytes than the weights that it is made of, such as the
    numbers behind weights of few bits, and what costs nothing, since it only views a weight.
    """
    sources: dict[int, frozenset[int]] = {}
    for unit in units:
        if unit.stage == "prepare":
            found = frozenset[int]()
            for number in unit.reads:
                own = graph.values[number].origin in ("parameter", "buffer")
                found |= {number} if own else sources.get(number, frozenset())
            sources.update(dict.fromkeys(unit.results, found))
    needed: set[int] = set()
    # Read by steps that were left in `main` here: keeping a part of such a chain must save bytes.
    unfolded: set[int] = set()
    staged = []
    for unit in reversed(units):
        if unit.stage == "prepare" and needed.intersection(unit.results):
            made = _bytes(graph, unit.results)
            weights = _bytes(graph, tuple(sources[unit.results[0]]))
            step = unit.step
            cheap = step is not None and step.kind not in ("reduce", "contract", "cumsum")
            view = step is not None and (step.kind in VIEWS or step.kind == "reshape")
            part = cheap and bool(unfolded.intersection(unit.results))
            if view or made > weights or (part and made == weights):
                unfolded.update(unit.reads)
                unit = replace(unit, stage="main")
        if unit.stage == "main":
            needed.update(unit.reads)
        staged.append(unit)
    return staged[::-1]


def _bytes(graph: Graph, numbers: Sequence[int]) -> int:
    values = (graph.values[n] for n in numbers)
    return sum(prod(value.shape) * torch_dtype(value.dtype).itemsize for value in values)
