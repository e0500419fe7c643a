"""Selection never overlaps, keeps the memory bound, and `exact` is never worse than `greedy`."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from linnet.backends import Region
from linnet.backends.testing import GraphBuilder
from linnet.graph import Graph
from linnet.torch.planned.select import Choice, exact, greedy


def chain(length: int) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", (1,))
    for _ in range(length):
        x = builder.step("neg", x)
    return builder.graph(x)


GRAPH = chain(12)
choices = st.lists(
    st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(1, 50), st.integers(0, 9)),
    max_size=9,
).map(
    lambda rows: [
        Choice(Region.of(GRAPH, start, min(start + length, 12)), float(saves), holds)
        for start, length, saves, holds in rows
    ]
)


def overlap_free(chosen: list[Choice]) -> bool:
    return not any(a.region.overlaps(b.region) for a, b in combinations(chosen, 2))


@given(choices, st.one_of(st.none(), st.integers(0, 30)))
def test_greedy_keeps_its_rules(offered: list[Choice], memory: int | None) -> None:
    chosen = [offered[n] for n in greedy(offered, memory)]
    assert overlap_free(chosen)
    assert memory is None or sum(choice.holds for choice in chosen) <= memory


@given(choices)
def test_exact_finds_the_best_set(offered: list[Choice]) -> None:
    chosen = [offered[n] for n in exact(offered)]
    assert overlap_free(chosen)
    best = max(
        (
            sum(choice.saves for choice in subset)
            for size in range(len(offered) + 1)
            for subset in combinations(offered, size)
            if overlap_free(list(subset))
        ),
        default=0.0,
    )
    assert sum(choice.saves for choice in chosen) == best


def test_of_equal_savings_the_earlier_wins() -> None:
    offered = [Choice(Region.of(GRAPH, 0, 2), 1.0), Choice(Region.of(GRAPH, 1, 3), 1.0)]
    assert greedy(offered, None) == [0]


def test_a_long_chain_of_overlaps_is_solved_exactly() -> None:
    graph = chain(400)
    saves = [3.0, 4.0, 3.0, 0.5]
    offered = [Choice(Region.of(graph, n, n + 2), saves[n % 4]) for n in range(390)]
    best, other = 0.0, 0.0  # with and without the region before
    for choice in offered:
        best, other = other + choice.saves, max(best, other)
    found = sum(offered[n].saves for n in exact(offered))
    assert found == max(best, other)
    assert found > sum(offered[n].saves for n in greedy(offered, None))


def test_a_tangle_with_too_many_possibilities_is_chosen_greedily() -> None:
    graph = chain(80)
    # Each pair occupies a step of its own at the far end, so no two possibilities are one.
    offered = [Choice(Region.of_steps(graph, [n, 40 + n]), 1.0) for n in range(20)]
    offered.append(Choice(Region.of(graph, 40, 60), 5.0))
    assert exact(offered) == greedy(offered, None) == [20]
    assert exact(offered[:8] + offered[-1:]) == list(range(8))
