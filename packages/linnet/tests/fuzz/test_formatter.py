"""Random layouts and comments, over every program there is."""

from __future__ import annotations

from format.test_formatter import PROGRAMS, assert_invariants, shaken

from fuzz.share import seeds
from linnet.syntax import parse_text


def test_any_layout_keeps_the_invariants() -> None:
    for seed in seeds(10_000):
        text = shaken(PROGRAMS[seed % len(PROGRAMS)], seed)
        if not parse_text(text).errors:
            assert_invariants(text)
