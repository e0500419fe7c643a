"""Chooses among regions that may overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.backends import Region

#: Possibilities that the exact search keeps at once; regions near each other need a few.
MOST_STATES = 4096


@dataclass(frozen=True)
class Choice:
    """A region to choose: the seconds that it saves, or its steps where it was not `timed`; and the
    bytes that it would keep.
    """

    region: Region
    saves: float
    holds: int = 0
    timed: bool = False


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
    """Positions of the set without overlaps that saves the most. A component of overlapping regions
    whose search would keep more than `MOST_STATES` possibilities at once is chosen greedily.
    """
    taken: list[int] = []
    for component in _components(_overlaps(choices)):
        part = [choices[n] for n in component]
        best = _best(part)
        taken += [component[k] for k in (greedy(part, None) if best is None else best)]
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


def _best(choices: Sequence[Choice]) -> list[int] | None:
    """Positions of the set that saves the most, by going through the regions in the order of their
    first steps: of all sets that occupy the same later steps only the best can become the answer.
    """
    order = sorted(range(len(choices)), key=lambda n: (choices[n].region.steps[0], n))
    #: Steps that are occupied and still matter -> the greatest saving, and what gives it.
    states: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for position, n in enumerate(order):
        steps = frozenset(choices[n].region.steps)
        later = order[position + 1 : position + 2]
        following = choices[later[0]].region.steps[0] if later else choices[n].region.steps[-1] + 1
        made: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for occupied, (saved, taken) in states.items():
            ways = [(occupied, saved, taken)]
            if occupied.isdisjoint(steps):
                ways.append((occupied | steps, saved + choices[n].saves, (*taken, n)))
            for after, total, regions in ways:
                key = frozenset(step for step in after if step >= following)
                if key not in made or total > made[key][0]:
                    made[key] = (total, regions)
        if len(made) > MOST_STATES:
            return None
        states = made
    return list(max(states.values(), key=lambda state: state[0])[1])
