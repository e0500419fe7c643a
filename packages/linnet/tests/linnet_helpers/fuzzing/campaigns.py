"""The campaigns: how many cases each has, and what one case does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from linnet_helpers.fuzzing import layouts, mutations, obligations


def share_note(part: str, whole: str, words: str) -> Callable[[Counter[str]], str]:
    """Says which share of the cases counted as `whole` are counted as `part`."""

    def note(counts: Counter[str]) -> str:
        percent = 100 * counts[part] / max(1, counts[whole])
        return f"{counts[part]} of {counts[whole]} {words} ({percent:.1f} %)"

    return note


@dataclass(frozen=True)
class Campaign:
    """`case` runs one seed and counts what it met; it raises what is wrong."""

    name: str
    count: int
    case: Callable[[int], Counter[str]]
    notes: tuple[Callable[[Counter[str]], str], ...] = ()


CAMPAIGNS = (
    Campaign(
        "formatter: programs in other layouts",
        5_000,
        layouts.other_layout,
        (share_note("kept", "cases", "parse"),),
    ),
    Campaign("formatter: generated programs", 5_000, layouts.generated),
    Campaign(
        "prover: random obligations",
        100_000,
        obligations.obligation,
        (
            share_note("proved", "true", "true ones proved"),
            share_note("shown", "false", "false ones have a counterexample"),
        ),
    ),
    Campaign(
        "programs: meaningful changes",
        25_000,
        mutations.meaningful_case,
        (share_note("valid", "cases", "check"), share_note("graphs", "cases", "graphs")),
    ),
    Campaign(
        "programs: scrambled tokens",
        15_000,
        mutations.scrambled_case,
        (share_note("valid", "cases", "check"),),
    ),
    Campaign("bytes", 10_000, mutations.bytes_case),
)
