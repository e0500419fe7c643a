"""Names much like one that was not found."""

from __future__ import annotations

from linnet.source import did_you_mean, near_names
from linnet.source.near import LONGEST, MOST_KNOWN


def test_the_nearest_names_come_first_and_never_the_name_itself() -> None:
    known = ("linear", "liner", "lineer", "norm")
    assert near_names("lineer", known) == ["liner"]
    assert near_names("lineer", known, 3) == ["liner", "linear"]
    assert near_names("softmax", known) == []


def test_a_name_that_is_no_typing_error_is_compared_with_nothing() -> None:
    assert near_names("x" * (LONGEST - 1), ["x" * (LONGEST - 2)]) == ["x" * (LONGEST - 2)]
    assert near_names("x" * LONGEST, ["x" * (LONGEST - 1)]) == []
    assert near_names("x" * (LONGEST - 1), ["x" * LONGEST]) == []


def test_the_help_names_one_and_gives_up_where_there_are_too_many() -> None:
    known = [f"name{i}" for i in range(MOST_KNOWN - 1)]
    assert did_you_mean("lineer", [*known, "linear"]) == ("did you mean `linear`?",)
    assert did_you_mean("lineer", [*known, "linear", "norm"]) == ()
