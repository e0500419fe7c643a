"""What the prover proves holds for every small assignment; the share it proves is reported."""

from __future__ import annotations

import itertools
import random

from linnet_helpers.share import seeds

from linnet.shapes import Constraint, Facts, Poly, floordiv, maximum, minimum, mod, number, symbol

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


def test_proofs_are_sound(record_property: object) -> None:
    true = proved = 0
    for seed in seeds(100_000):
        pick = random.Random(seed)
        known = [constraint(pick) for _ in range(pick.randrange(4))]
        goal = constraint(pick)
        facts = Facts(known)
        claims = facts.prove(goal)
        answers = [
            truth(goal, values)  # type: ignore[arg-type]  # values are numbers here
            for values in ASSIGNMENTS
            if all(truth(fact, values) for fact in known)  # type: ignore[arg-type]  # values are numbers here
        ]
        assert not (claims and False in answers), f"seed {seed}: {goal} from {known}"
        if True in answers and False not in answers:
            true += 1
            proved += claims
    record_property("share proved", f"{proved} of {true}")  # type: ignore[operator]  # values are numbers here
    assert proved > 0.5 * true
