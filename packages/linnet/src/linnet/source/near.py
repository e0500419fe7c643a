"""Names much like one that was not found."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80  # Longer names are no typing errors, and comparing them takes time.
MOST_KNOWN = 500  # A source may have thousands of errors, each compared with all names.


def near_names(name: str, known: Iterable[str], most: int = 1, least: float = 0.75) -> list[str]:
    """At most `most` of the known names, the nearest first.

    `least` says how near: 0 takes every name, 1 none but `name` itself, which is never among them.
    """
    # Commands that find what they look for need not load it.
    from difflib import get_close_matches

    if len(name) >= LONGEST:
        return []
    pool = dict.fromkeys(other for other in known if len(other) < LONGEST and other != name)
    return get_close_matches(name, pool, most, least)


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The help of a diagnostic about a name that is none of the known ones; often empty.

    Nothing is compared where more than `MOST_KNOWN` names are known.
    """
    pool = list(known)
    near = near_names(name, pool) if len(pool) <= MOST_KNOWN else []
    return tuple(f"did you mean `{other}`?" for other in near)
