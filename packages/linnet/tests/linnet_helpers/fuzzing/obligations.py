"""Random obligations: what the prover proves holds for every small assignment."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from linnet.shapes import (
    Constraint,
    Facts,
    Poly,
    counterexample,
    floordiv,
    maximum,
    minimum,
    mod,
    number,
    symbol,
)

SYMBOLS = [symbol(name) for name in "HNK"]
ATOMS = [s.atoms[0] for s in SYMBOLS]
ASSIGNMENTS = [
    dict(zip(ATOMS, values, strict=True)) for values in itertools.product(range(7), repeat=3)
]
ZERO = number(0)
OPERATORS = ["==", "==", "!=", "<", "<=", ">", ">="]


def size(pick: random.Random, depth: int) -> Poly:
    """A random size."""
    if depth == 0 or pick.random() < 0.3:
        return pick.choice(SYMBOLS) if pick.random() < 0.7 else number(pick.randrange(-1, 5))
    a, b = size(pick, depth - 1), size(pick, depth - 1)
    makers = [
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: a * b,
        lambda: floordiv(a, b),
        lambda: mod(a, b),
        lambda: minimum(a, b),
        lambda: maximum(a, b),
    ]
    return pick.choice(makers)()


def constraint(pick: random.Random) -> Constraint:
    """A random fact or goal: divisibility, a lower bound, or anything."""
    choice = pick.random()
    if choice < 0.35:
        return Constraint("==", mod(size(pick, 2), pick.choice(SYMBOLS)), ZERO)
    if choice < 0.5:
        return Constraint(">", pick.choice(SYMBOLS), number(pick.choice([0, 0, 1, 2])))
    return Constraint(pick.choice(OPERATORS), size(pick, 2), size(pick, 2))


def truth(one: Constraint, values: dict[object, int]) -> bool | None:
    """Whether a constraint holds; None where a divisor is not positive."""
    left, right = one.left.evaluate(values), one.right.evaluate(values)  # type: ignore[arg-type]  # values are numbers here
    return None if left is None or right is None else one.holds(left, right)


def problem(seed: int) -> tuple[list[Constraint], Constraint]:
    """Facts and a goal."""
    pick = random.Random(seed)
    known = [constraint(pick) for _ in range(pick.randrange(4))]
    return known, constraint(pick)


def obligation(seed: int) -> Counter[str]:
    """One goal under some facts, against brute force over small sizes."""
    known, goal = problem(seed)
    facts = Facts(known)
    claims = facts.prove(goal)
    answers = [
        truth(goal, values)  # type: ignore[arg-type]  # values are numbers here
        for values in ASSIGNMENTS
        if all(truth(fact, values) for fact in known)  # type: ignore[arg-type]  # values are numbers here
    ]
    counts = Counter(cases=1)
    assert not (claims and False in answers), f"proved {goal} from {known}"
    if True in answers and False not in answers:
        counts.update(true=1, proved=int(claims))
    if False in answers:
        counts["false"] = 1
        found = counterexample(facts, goal)
        if found is not None:
            values = {atom: found.get(atom.name, 0) for atom in ATOMS}
            assert truth(goal, values) is False, f"{found} does not break {goal}"  # type: ignore[arg-type]  # values are numbers here
            assert all(truth(fact, values) for fact in known), f"{found} breaks {known}"  # type: ignore[arg-type]  # values are numbers here
            counts["shown"] = 1
    return counts
