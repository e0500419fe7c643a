import json
import re
from pathlib import Path

import pytest

from linked_resolver.diagnostics import CODES, Problem, ResolveError, as_json, order, render

TESTS = Path(__file__).parent


def test_every_code_has_a_test_with_its_whole_text() -> None:
    pages = [*TESTS.glob("test_*.py"), *TESTS.glob("faults/*.md")]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages if page != Path(__file__))
    whole = r'(?:^|== \(\n +")error\[([\w-]+)\]: '
    assert set(re.findall(whole, texts, re.MULTILINE)) == CODES.keys()


def test_a_problem_shows_place_values_notes_and_help() -> None:
    problem = Problem(
        "output", "it is so", "a.yaml", 3, "library", "this", "that\nand more", ("one\ntwo",), "do"
    )
    assert (
        problem.render()
        == """\
error[output]: it is so
  --> a.yaml:3, key `library`
  expected: this
  got: that
    and more
  note: one
    two
  help: do"""
    )


def test_a_problem_with_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of CODES, got 'nonsense'"):
        Problem("nonsense", "text")


def test_problems_are_ordered_by_place_and_not_repeated() -> None:
    nowhere = Problem("output", "nowhere")
    late, early = Problem("output", "b", "b", 1), Problem("output", "a", "a", 9)
    first = Problem("output", "a", "a", 2)
    assert order([nowhere, late, early, first, late]) == (first, early, late, nowhere)


def test_error_text_is_that_of_its_problems() -> None:
    problems = [Problem("output", "a"), Problem("output", "b")]
    assert str(ResolveError(problems)) == render(problems) == "error[output]: a\n\nerror[output]: b"


def test_json_is_sorted_and_does_not_name_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/people/someone")
    text = as_json({"b": ["at /people/someone/x", 1], "a": {"c": None}})
    assert json.loads(text) == {"a": {"c": None}, "b": ["at ~/x", 1]}
    assert text.index('"a"') < text.index('"b"')
