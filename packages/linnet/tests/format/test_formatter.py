"""The formatter keeps trees and comments, and reaches a fixed point in one pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linnet_helpers.fuzzing.layouts import assert_invariants, shaken
from linnet_helpers.programs import EXAMPLES, LIBRARY, all_programs

from linnet.format import format_source, format_text
from linnet.source import SourceFile
from linnet.syntax import parse, parse_text, tokenize

PROGRAMS = all_programs()


@pytest.mark.parametrize("path", [*LIBRARY, *EXAMPLES], ids=lambda p: p.stem)
def test_our_own_sources_are_formatted(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]  # parametrised with paths
    assert assert_invariants(text) == text


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_keep_their_tree(number: int) -> None:
    assert_invariants(PROGRAMS[number])


@settings(max_examples=300)
@given(st.integers(0, len(PROGRAMS) - 1), st.integers(0, 2**32))
def test_any_layout_with_any_comments_keeps_the_invariants(number: int, seed: int) -> None:
    text = shaken(PROGRAMS[number], seed)
    if not parse_text(text).errors:
        assert_invariants(text)


def test_where_with_one_constraint_stays_before_the_brace() -> None:
    text = "module m\nfn f<N: Dim>(x: Tensor[N; f32]) where N > 0 { return }"
    assert format_text(text) == (
        "module m\n\nfn f<N: Dim>(x: Tensor[N; f32])\nwhere N > 0 {\n    return\n}\n"
    )


def test_where_with_several_constraints_leaves_the_brace_alone() -> None:
    text = "module m\nfn f<N: Dim>(x: Tensor[N; f32]) where N > 0, N % 2 == 0 { return }"
    assert format_text(text) == (
        "module m\n\nfn f<N: Dim>(x: Tensor[N; f32])\nwhere\n    N > 0,\n    N % 2 == 0,\n{\n"
        "    return\n}\n"
    )


def test_a_trailing_comma_keeps_a_list_broken_and_its_absence_joins_it() -> None:
    joined = "module m\n\nfn f(x: f32, y: f32) {\n    return\n}\n"
    assert format_text("module m\nfn f(\n  x: f32,\n  y: f32\n) { return }") == joined
    assert format_text("module m\nfn f(x: f32, y: f32,) { return }") == (
        "module m\n\nfn f(\n    x: f32,\n    y: f32,\n) {\n    return\n}\n"
    )


def test_line_ends_trailing_spaces_enums_and_groups_of_constants() -> None:
    text = "module m  \r\nconst A = 1\r\nconst B = 2\r\n\r\n\r\nconst C = 3\r\nenum E { X, Y }"
    assert format_text(text) == (
        "module m\n\nconst A = 1\nconst B = 2\n\nconst C = 3\n\nenum E {\n    X,\n    Y,\n}\n"
    )


def test_long_lines_break_after_operators_and_reductions_indent_their_body() -> None:
    sums = " + ".join(f"a_long_name_number_{i}" for i in range(6))
    text = f"module m\nfn f() {{ let x = {sums} let y = sum[i] ({sums}) }}"
    shown = format_text(text).split("\n")
    assert shown[3] == "    let x = a_long_name_number_0 +"
    assert shown[4].startswith("        a_long")
    assert "    let y = sum[i]" in shown


def test_comments_stay_with_what_they_follow_or_precede() -> None:
    text = (
        "// head\nmodule m // name\n/// doc\nfn f(a: f32 /* middle */, b: f32) { // opens\n"
        "  // first\n  return // last\n  // dangling\n}\n// end"
    )
    assert format_text(text) == (
        "// head\nmodule m // name\n\n/// doc\nfn f(a: f32, b: f32) { /* middle */ // opens\n"
        "    // first\n    return // last\n    // dangling\n}\n// end\n"
    )


def test_a_file_that_does_not_parse_is_left_alone() -> None:
    found = format_source(SourceFile("t", "module m fn f( {"))
    assert found.text is None
    assert found.errors[0].code == "E1101"
    assert parse(tokenize(SourceFile("t", "module m"))).errors == ()
