"""Random layouts and comments, over every program there is."""

from __future__ import annotations

from linnet_helpers.layouts import assert_invariants, shaken
from linnet_helpers.programs import all_programs
from linnet_helpers.share import seeds

from linnet.syntax import parse_text

PROGRAMS = all_programs()


def test_any_layout_keeps_the_invariants() -> None:
    for seed in seeds(10_000):
        text = shaken(PROGRAMS[seed % len(PROGRAMS)], seed)
        if not parse_text(text).errors:
            assert_invariants(text)
