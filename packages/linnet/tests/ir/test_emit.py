"""IR documents become source again: the same program, its types, entries and graphs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from linnet_helpers.programs import EXAMPLES, all_programs
from linnet_helpers.trips import documents_agree, graphs_of, there_and_back

from linnet.check import check_text
from linnet.ir import lower
from linnet.ir.emit import emit
from linnet.ir.json import interface_to_json, module_to_json

PROGRAMS = all_programs()


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(module_to_json(lower(check_text(text).ensure_valid()), None))
    )
    return found


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_every_program_comes_back_the_same(number: int) -> None:
    first, second = there_and_back(PROGRAMS[number])
    documents_agree(document(PROGRAMS[number]), document(first))
    assert second == first


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_entries_of_emitted_source_have_the_same_graphs(number: int) -> None:
    first, _ = there_and_back(PROGRAMS[number])
    assert graphs_of(first) == graphs_of(PROGRAMS[number])


def test_graphs_are_compared_for_most_entries() -> None:
    assert sum(len(graphs_of(text)) for text in PROGRAMS) > 20
    assert graphs_of(EXAMPLES[0].read_text(encoding="utf-8"))


def emitted(body: str) -> str:
    """The body of the first function of the emitted program."""
    text = emit(document(f"module m\n{body}"))
    return text.split("{\n", 1)[1].rsplit("}\n", 1)[0]


def test_values_are_written_where_they_are_read_or_named() -> None:
    shown = emitted(
        "fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { let y = x * 2.0 + 1.0 return (y - x) * y }"
    )
    assert shown == "    let y = x * 2.0 + 1.0\n    return (y - x) * y\n"


def test_literals_keep_the_dtype_that_they_adopted() -> None:
    shown = emitted("fn f<N: Dim>(x: f16) -> f16 { let a: f16 = 1.0 / N let b = 3 return x * a }")
    assert shown == "    let a: f16 = 1.0 / N\n    let b: i64 = 3\n    return x * a\n"


def test_names_that_are_taken_get_numbers() -> None:
    text = "fn f(x: f32) -> f32 { let x = x + 1.0 let x = x * x return x }"
    assert emitted(text) == "    let x_2 = x + 1.0\n    let x_3 = x_2 * x_2\n    return x_3\n"


def test_a_state_is_read_before_it_is_written() -> None:
    text = (
        "pub block B { state s: Tensor[2; f32] pub entry go(x: Tensor[2; f32]) -> Tensor[2; f32] {"
        " let old = s s = x return old - s } }"
    )
    lines = [line.strip() for line in emit(document(f"module m\n{text}")).split("\n")]
    assert lines[-6:-3] == ["let old = s", "s = x", "return old - s"]


def test_variables_that_change_places_keep_their_values() -> None:
    text = (
        "fn f<N: Dim>(x: f32) -> f32 { var a = x var b = x * 2.0"
        " for i in 0..N { let t = a a = b b = t } return a - b }"
    )
    first, second = there_and_back(f"module m\n{text}")
    assert "let old_" in first
    assert second == first


def test_items_of_other_modules_are_imported_under_free_names() -> None:
    text = (
        "module m\nuse std.nn.linear::{linear as project}\n"
        "pub fn linear<N: Dim>(x: Tensor[N, 4; f32], w: Tensor[3, 4; f32]) -> Tensor[N, 3; f32] {"
        " return project(x, w) }"
    )
    assert "use std.nn.linear::{linear as linear_2}" in emit(document(text))


def test_an_interface_without_bodies_is_refused() -> None:
    with pytest.raises(ValueError, match="inspect --ir"):
        emit(interface_to_json(check_text("module m").ensure_valid(), None))


def test_an_integer_that_only_a_float_holds_comes_back_as_a_float() -> None:
    text = (
        "const BIG: f64 = 99999999999999999999\n"
        "fn f(x: Tensor[4; f32]) -> Tensor[4; f32] { return x * cast<f32>(BIG) }"
    )
    first, second = there_and_back(f"module m\n{text}")
    assert "cast<f32>(1e+20)" in first
    assert second == first


@pytest.mark.parametrize(
    "body", ["x | LOW + LOW", "LOW - 1", "-LOW", "min(LOW, LOW - 1)", "LOW * LOW + x"]
)
def test_arithmetic_of_constants_keeps_their_dtype(body: str) -> None:
    constant = "const LOW: i64 = -9223372036854775808"
    source = f"module m\n\n{constant}\n\npub fn f(x: i64) -> i64 {{\n    return {body}\n}}\n"
    first, second = there_and_back(source)
    assert "cast<i64>(-9223372036854775808)" in first
    assert first == second
