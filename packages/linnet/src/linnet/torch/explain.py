"""What generated source makes of each op that an entry calls, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from linnet.graph import Call, Graph
from linnet.torch.cache_writes import IN_PLACE
from linnet.torch.library_calls import library_call
from linnet.torch.stages import Joins, Portion, Unit, divide


@dataclass(frozen=True)
class Choice:
    """How calls of one op at one place of the source run.

    `path` is the block's path with `*` for the places in arrays, `count` how many calls there are.
    `candidates` are the ways there would be; `choice` is one of them.
    """

    callee: str
    path: str
    count: int
    candidates: tuple[str, ...]
    choice: str
    reason: str


def explain(
    graph: Graph,
    numerics: str = "fast",
    fold_weights: bool = True,
    joins: Joins | None = None,
    in_place: bool = True,
) -> tuple[Choice, ...]:
    """The choices of generated source for a graph, for each op in order of its first call. Calls
    inside one that a single function computes, and those that nothing needs, are left out.
    """
    whole = Portion.whole(graph)
    division = divide(graph, whole, numerics, fold_weights, joins, in_place)
    units: dict[int, Unit] = {}
    for unit in division.units:
        for call in (*((unit.call,) if unit.call else ()), *unit.siblings):
            units[call.index] = unit
    hidden = {n for unit in units.values() for call in _calls(unit) for n in _inside(graph, call)}
    alive = {n for unit in division.units for n in unit.results} | set(division.same)
    found: dict[tuple[str, str, tuple[str, ...], str, str], int] = {}
    for call in graph.calls:
        if call.kind != "op" or call.index in hidden or not alive.intersection(call.results):
            continue
        path = re.sub(r"\.\d+(?=\.|$)", ".*", call.path)
        chosen = _choice(graph, call, units.get(call.index), numerics)
        key = (call.callee, path, *chosen)
        found[key] = found.get(key, 0) + 1
    return tuple(
        Choice(callee, path, count, candidates, choice, reason)
        for (callee, path, candidates, choice, reason), count in found.items()
    )


def explain_lines(choices: Iterable[Choice]) -> list[str]:
    """The choices as text, each in two lines."""
    lines = []
    for one in choices:
        times = f" x{one.count}" if one.count > 1 else ""
        where = f" in {one.path}" if one.path else ""
        lines.append(f"{one.callee}{where}{times}")
        lines.append(f"    {one.choice}: {one.reason} (of {', '.join(one.candidates)})")
    return lines


def _calls(unit: Unit) -> tuple[Call, ...]:
    return unit.siblings or ((unit.call,) if unit.call else ())


def _inside(graph: Graph, call: Call) -> set[int]:
    return {inner.index for inner in call.nested(graph)}


def _choice(
    graph: Graph, call: Call, unit: Unit | None, numerics: str
) -> tuple[tuple[str, ...], str, str]:
    def name(number: int) -> str:
        return f"v{number}"

    candidates = ["body"]
    best = library_call(graph, call, name, "fast")
    if best is not None:
        candidates.append(best.split("(")[0])
    if call.callee in IN_PLACE:
        candidates.append("in place")
    if unit is not None and unit.siblings:
        count = len(unit.siblings)
        candidates.append("one product")
        reason = f"{count} products of one input are one, over weights laid side by side"
        return tuple(candidates), "one product", reason
    if unit is not None and unit.state is not None:
        reason = "nothing else reads the old content, and nothing later can fail"
        return tuple(candidates), "in place", reason
    if unit is not None and best is not None:
        return tuple(candidates), best.split("(")[0], f"it computes the op in {numerics} numerics"
    return tuple(candidates), "body", _why_body(graph, call, numerics, best)


def _why_body(graph: Graph, call: Call, numerics: str, best: str | None) -> str:
    if numerics == "exact":
        return "exact numerics run bodies as written"
    if call.callee in IN_PLACE:
        return "the old content is read elsewhere, it is no state, or something later may fail"
    if best is None:
        return "no library function computes it with these arguments"
    if library_call(graph, call, lambda number: f"v{number}", numerics) is None:
        return f"the function rounds otherwise than the body, which {numerics} numerics refuse"
    return "a value inside it is needed outside, or it lies in another call that runs as one"
