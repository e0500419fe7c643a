"""Divides the steps of generated source by what they depend on, and groups them into units.

A unit is what one line of source computes: a step, a whole call that one library function
computes, or sibling products that one product computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from linnet.graph import Call, Graph, SourceSpan, Step
from linnet.graph.kinds import VIEWS
from linnet.torch.expressions import library_call

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
    """What one line computes. Exactly one of `step`, `call` and `siblings` is set."""

    results: tuple[int, ...]
    reads: tuple[int, ...]
    span: SourceSpan | None
    stage: Stage
    step: Step | None = None
    call: Call | None = None
    siblings: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Division:
    """The units of a portion in order, and the state results that its writes leave."""

    units: tuple[Unit, ...]
    written: tuple[tuple[str, int], ...]

    def of(self, stage: Stage) -> tuple[Unit, ...]:
        """The units of one stage."""
        return tuple(unit for unit in self.units if unit.stage == stage)


def divide(
    graph: Graph,
    portion: Portion,
    numerics: str = "fast",
    fold_weights: bool = True,
    joins: Joins | None = None,
) -> Division:
    """The units that the portion's outputs and state writes need.

    `fold_weights=False`, for training, leaves arithmetic on weights in `main`.
    """
    steps = [graph.steps[n] for n in portion.steps]
    written = tuple(
        (s.attributes["state"], s.operands[0])
        for s in steps
        if s.kind == "state_write" and graph.last_writes[s.attributes["state"]] is s
    )
    units = _with_calls(graph, portion, steps, written, numerics)
    if joins is not None:
        units = _joined(graph, units, joins)
    wanted = {*portion.outputs, *(number for _, number in written)}
    live: list[Unit] = []
    for unit in reversed(units):
        if wanted.intersection(unit.results):
            wanted.update(unit.reads)
            live.append(unit)
    return Division(tuple(_staged(graph, live[::-1], fold_weights)), written)


def _with_calls(
    graph: Graph,
    portion: Portion,
    steps: Sequence[Step],
    written: Sequence[tuple[str, int]],
    numerics: str,
) -> list[Unit]:
    own = set(portion.steps)
    outside = {*portion.outputs, *(number for _, number in written)}
    covered: dict[int, Call] = {}
    starting = (graph.calls_by_start.get(n, ()) for n in sorted(own))
    for call in (call for calls in starting for call in calls):
        inside = range(call.start, call.stop)
        if not inside or not own.issuperset(inside) or any(n in covered for n in inside):
            continue
        if library_call(graph, call, lambda number: f"v{number}", numerics) is None:
            continue
        hidden = {n for k in inside for n in graph.steps[k].results} - set(call.results)
        seen = {r.index for n in hidden for r in graph.readers.get(n, ())}
        if hidden & outside or not seen <= set(inside):
            continue
        covered.update(dict.fromkeys(inside, call))
    units: list[Unit] = []
    for step in steps:
        owner = covered.get(step.index)
        if owner is None:
            if step.kind != "state_write":
                units.append(Unit(step.results, step.reads, step.span, "main", step=step))
        elif step.index == owner.start:
            units.append(Unit(owner.results, owner.operands, owner.span, "main", call=owner))
    return units


def _joined(graph: Graph, units: list[Unit], joins: Joins) -> list[Unit]:
    """Products of one input with several weights, as one product where the weights can lie side
    by side.
    """
    groups: dict[int, list[int]] = {}
    for position, unit in enumerate(units):
        call = unit.call
        if call is None or call.callee != "std.nn.linear::linear":
            continue
        x, w = call.argument("x"), call.argument("weight")
        if call.argument("bias") is not None or not isinstance(w, int) or not isinstance(x, int):
            continue
        if graph.values[w].origin == "parameter" and graph.values[x].origin in ("input", "step"):
            groups.setdefault(x, []).append(position)
    joined: dict[int, Unit | None] = {}
    for x, group in groups.items():
        calls = [call for n in group if (call := units[n].call) is not None]
        weights = [w for call in calls if isinstance(w := call.argument("weight"), int)]
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
        elif read <= {"constants", "prepare"} and fold_weights and not _is_view(graph, unit):
            stage = "prepare"
        stages.update((number, stage) for number in unit.results)
        staged.append(
            Unit(unit.results, unit.reads, unit.span, stage, unit.step, unit.call, unit.siblings)
        )
    return staged


def _is_view(graph: Graph, unit: Unit) -> bool:
    """Whether a unit costs nothing, so that keeping its result would only hide the weight."""
    step = unit.step
    return step is not None and (step.kind in VIEWS or step.kind == "reshape")
