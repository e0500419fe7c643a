"""Chooses among regions that may overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.backends import Region

#: Components of overlapping regions up to this size are solved exactly; larger ones take too long.
EXACT_LIMIT = 24


@dataclass(frozen=True)
class Choice:
    """A region to choose: the seconds that it saves, and the bytes that it would keep."""

    region: Region
    saves: float
    holds: int = 0


def greedy(choices: Sequence[Choice], memory: int | None) -> list[int]:
    """Positions of the chosen, ascending: the greatest saving first, never two that overlap, and
    none that would take the kept bytes past `memory`. Of equal savings the earlier wins.
    """
    order = sorted(range(len(choices)), key=lambda n: (-choices[n].saves, n))
    taken: list[int] = []
    steps: set[int] = set()
    kept = 0
    for n in order:
        choice = choices[n]
        if steps.intersection(choice.region.steps):
            continue
        if memory is not None and kept + choice.holds > memory:
            continue
        kept += choice.holds
        steps.update(choice.region.steps)
        taken.append(n)
    return sorted(taken)


def exact(choices: Sequence[Choice]) -> list[int]:
    """Positions of the set without overlaps that saves the most; components of more than
    `EXACT_LIMIT` regions are chosen greedily.
    """
    neighbours = _overlaps(choices)
    taken: list[int] = []
    for component in _components(neighbours):
        if len(component) > EXACT_LIMIT:
            part = [choices[n] for n in component]
            taken += [component[k] for k in greedy(part, None)]
        else:
            taken += _best(frozenset(component), choices, neighbours, {})[1]
    return sorted(taken)


def _overlaps(choices: Sequence[Choice]) -> list[set[int]]:
    by_step: dict[int, list[int]] = {}
    for n, choice in enumerate(choices):
        for step in choice.region.steps:
            by_step.setdefault(step, []).append(n)
    neighbours: list[set[int]] = [set() for _ in choices]
    for sharing in by_step.values():
        for n in sharing:
            neighbours[n].update(sharing)
    for n, found in enumerate(neighbours):
        found.discard(n)
    return neighbours


def _components(neighbours: Sequence[set[int]]) -> list[list[int]]:
    seen: set[int] = set()
    components = []
    for start in range(len(neighbours)):
        if start in seen:
            continue
        component, open_ones = [], [start]
        seen.add(start)
        while open_ones:
            n = open_ones.pop()
            component.append(n)
            fresh = neighbours[n] - seen
            seen |= fresh
            open_ones += sorted(fresh)
        components.append(sorted(component))
    return components


_Best = tuple[float, tuple[int, ...]]


def _best(
    left: frozenset[int],
    choices: Sequence[Choice],
    neighbours: Sequence[set[int]],
    known: dict[frozenset[int], _Best],
) -> _Best:
    """The greatest saving within `left`, and the positions that give it."""
    if not left:
        return 0.0, ()
    if left in known:
        return known[left]
    n = max(left, key=lambda k: (len(neighbours[k] & left), -k))
    saved, taken = _best(left - neighbours[n] - {n}, choices, neighbours, known)
    best = saved + choices[n].saves, (*taken, n)
    if neighbours[n] & left:
        without = _best(left - {n}, choices, neighbours, known)
        best = max(best, without, key=lambda pair: pair[0])
    known[left] = best
    return best
