"""The prover proves what the language promises, and nothing false."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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

B, H, W, P, N, K = (symbol(name) for name in "BHWPNK")
ZERO, TWO = number(0), number(2)


def test_head_split_and_merge() -> None:
    facts = Facts([Constraint(">", P, ZERO), Constraint("==", mod(H, P), ZERO)])
    assert facts.equal(floordiv(H, P) * P, H)
    assert facts.equal(TWO * floordiv(H, P) * P * B, B * H.scale(2))
    assert not Facts().equal(floordiv(H, P) * P, H)


def test_two_quotients_in_one_product() -> None:
    facts = Facts([Constraint("==", mod(H, P), ZERO), Constraint("==", mod(W, P), ZERO)])
    assert facts.equal(floordiv(H, P) * P * floordiv(W, P) * P, H * W)
    assert facts.equal(floordiv(H, P) * floordiv(W, P) * (P * P), W * H)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (N + number(1), number(1) + N),
        (N.scale(2), N + N),
        ((N + K) - K, N),
        (N * (K + number(1)), N * K + N),
        (maximum(N, N), N),
        (floordiv(H.scale(4) + number(3), TWO), H.scale(2) + number(1)),
        (floordiv(B * H, H), B),
    ],
)
def test_equal_sizes_written_differently(left: Poly, right: Poly) -> None:
    assert Facts().equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [(N + number(1), N), (N * K, N + K), (floordiv(N, TWO) * TWO, N), (N - K, K - N)],
)
def test_different_sizes_stay_different(left: Poly, right: Poly) -> None:
    assert not Facts().equal(left, right)
    assert counterexample(Facts(), Constraint("==", left, right)) is not None


def test_divisibility_is_transitive_and_splits_products() -> None:
    chain = Facts([Constraint("==", mod(N, K), ZERO), Constraint("==", mod(H, N), ZERO)])
    assert chain.divides(K, H)
    assert not chain.divides(H, K)
    product = Facts([Constraint("==", mod(H, N * K), ZERO)])
    assert product.divides(N, H)
    assert product.divides(K, H)


def test_two_inequalities_combine() -> None:
    facts = Facts([Constraint("<=", N, K), Constraint("<=", K, H)])
    assert facts.prove(Constraint("<=", N, H))
    assert not facts.prove(Constraint("<", N, H))


def test_bounds_of_quotients_and_remainders() -> None:
    facts = Facts([Constraint(">", P, ZERO)])
    assert facts.prove(Constraint("<=", floordiv(H, P) * P, H))
    assert facts.prove(Constraint("<", mod(H, P), P))
    assert facts.prove(Constraint("<=", floordiv(H, TWO), H))
    assert facts.prove(Constraint("<=", minimum(H, W), W))


def test_equality_is_solved_and_substituted() -> None:
    facts = Facts([Constraint("==", H, N * K), Constraint(">", N, ZERO), Constraint(">", K, ZERO)])
    assert facts.equal(floordiv(H, N), K)
    assert facts.positive(H)


def test_overflow_proves_nothing() -> None:
    huge = number(2**62) * number(4)
    assert huge.invalid
    assert not Facts().equal(huge, huge)


def test_counterexample_satisfies_the_facts() -> None:
    facts = Facts([Constraint(">", N, ZERO)])
    found = counterexample(facts, Constraint("==", mod(H, N), ZERO))
    assert found is not None
    assert found["N"] > 0
    assert found["H"] % found["N"] != 0


SYMBOLS = (H, N, K)


def sizes(depth: int = 3) -> st.SearchStrategy[Poly]:
    leaf = st.one_of(st.sampled_from(SYMBOLS), st.integers(-3, 5).map(number))

    def extend(inner: st.SearchStrategy[Poly]) -> st.SearchStrategy[Poly]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda p: p[0] + p[1]),
            pair.map(lambda p: p[0] - p[1]),
            pair.map(lambda p: p[0] * p[1]),
            pair.map(lambda p: floordiv(p[0], p[1])),
            pair.map(lambda p: mod(p[0], p[1])),
            pair.map(lambda p: minimum(p[0], p[1])),
            pair.map(lambda p: maximum(p[0], p[1])),
        )

    return st.recursive(leaf, extend, max_leaves=6)


def constraints() -> st.SearchStrategy[Constraint]:
    operator = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    divisible = st.tuples(sizes(), st.sampled_from(SYMBOLS)).map(
        lambda p: Constraint("==", mod(p[0], p[1]), ZERO)
    )
    return st.one_of(st.builds(Constraint, operator, sizes(), sizes()), divisible)


@settings(max_examples=1500)
@given(st.lists(constraints(), max_size=3), constraints())
def test_what_is_proved_holds_for_every_small_assignment(
    known: list[Constraint], goal: Constraint
) -> None:
    facts = Facts(known)
    if goal.left.invalid or goal.right.invalid or not facts.prove(goal):
        return
    atoms = [s.atoms[0] for s in SYMBOLS]
    for numbers in itertools.product(range(6), repeat=len(atoms)):
        values = dict(zip(atoms, numbers, strict=True))
        left, right = goal.left.evaluate(values), goal.right.evaluate(values)
        sides = [(c, c.left.evaluate(values), c.right.evaluate(values)) for c in known]
        if left is None or right is None or any(a is None or b is None for _, a, b in sides):
            continue
        if all(c.holds(a, b) for c, a, b in sides):  # type: ignore[arg-type]  # symbols are keys
            assert goal.holds(left, right), f"{goal} at {values} under {[str(c) for c in known]}"
