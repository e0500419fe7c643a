"""Small assignments that satisfy the facts and break a requirement."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from linnet.shapes.facts import Constraint, Facts
from linnet.shapes.poly import Atom

TRIES = 4000
VALUES = (3, 2, 4, 10, 1, 5, 6, 7, 8, 12, 0, 9, 16)


def counterexample(facts: Facts, goal: Constraint) -> dict[str, int] | None:
    """Sizes by name that satisfy all facts but not the goal, or None if none is found.

    Only symbols that the goal or the facts about them mention are assigned.
    """
    symbols = _related(facts.constraints, goal)
    if len(symbols) > 6:
        return None
    each = max(2, int(TRIES ** (1 / max(1, len(symbols)))))
    for numbers in itertools.product(VALUES[:each], repeat=len(symbols)):
        values = dict(zip(symbols, numbers, strict=True))
        if _holds(goal, values) is False and all(_holds(f, values) for f in facts.constraints):
            return {atom.name: value for atom, value in values.items()}
    return None


def _related(constraints: Iterable[Constraint], goal: Constraint) -> list[Atom]:
    found = set(goal.left.leaves | goal.right.leaves)
    pending = list(constraints)
    while True:
        near = [c for c in pending if found & (c.left.leaves | c.right.leaves)]
        if not near:
            break
        pending = [c for c in pending if c not in near]
        for constraint in near:
            found |= constraint.left.leaves | constraint.right.leaves
    for constraint in pending:
        found |= constraint.left.leaves | constraint.right.leaves
    return sorted(found, key=lambda atom: atom.serial)


def _holds(constraint: Constraint, values: dict[Atom, int]) -> bool | None:
    left, right = constraint.left.evaluate(values), constraint.right.evaluate(values)
    if left is None or right is None:
        return None
    return constraint.holds(left, right)
