"""The parser reads the grammar, recovers, and meets hostile text with one clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linnet.syntax import parse_text
from linnet.syntax.parser import Parser
from linnet.syntax.tree import Binary, Call, Const, outline, same_tree

HOSTILE = {
    "parentheses": "module m const A = " + "(" * 100_000,
    "closed parentheses": "module m const A = " + "(" * 2000 + "1" + ")" * 2000,
    "prefix operators": "module m const A = " + "-" * 100_000 + "1",
    "sum": "module m const A = " + "1+" * 200_000 + "1",
    "right-leaning sum": "module m const A = " + "1+(" * 50_000,
    "calls": "module m const A = f" + "(1)" * 100_000,
    "less-than chain": "module m const A = " + "a<" * 100_000,
    "types": "module m const A: " + "Tensor[" * 50_000,
    "optionals": "module m const A: f32" + "?" * 100_000,
    "loops": "module m fn f() { " + "while a { " * 100_000,
    "patterns": "module m fn f() { let " + "(" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_deep_text_is_an_error_and_no_crash(name: str) -> None:
    errors = parse_text(HOSTILE[name]).errors
    assert 1 <= len(errors) <= 3
    assert errors[0].code == "E1101"


def test_long_flat_text_is_read() -> None:
    assert not parse_text("module m fn f() {" + "\nlet a = 1" * 20_000 + "}").errors
    commas = "module m const A = f(" + "a < b, " * 20_000 + ")"
    assert not parse_text(commas).errors


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E1102"),
        ("\0", "E1001"),
        ("module m /*", "E1002"),
        ('module m const A = "x', "E1003"),
        ("module m const A = " + "9" * 2_000_000 + "x", "E1005"),
        ("module m const " + "a" * (1 << 20) + " = ?", "E1101"),
    ],
)
def test_odd_text_is_one_error(text: str, code: str) -> None:
    (error,) = parse_text(text).errors
    assert error.code == code
    assert len(error.message) < 200


def test_an_error_ends_its_statement_only() -> None:
    text = "module m fn f() { let = 1 let b = } fn g() { return ) } const C = 1"
    parsed = parse_text(text)
    assert [e.code for e in parsed.errors] == ["E1101"] * 3
    assert [item.name.text for item in parsed.tree.items] == ["f", "g", "C"]


def test_layout_and_comments_do_not_change_the_tree() -> None:
    first = parse_text("module m const A = f<2>(x)[1:2] // c")
    second = parse_text("module m\n\nconst A =\n  f < 2 > ( x ) [ 1 : 2 ]")
    assert same_tree(first.tree, second.tree)
    other = parse_text("module m const A = f<2>(x)[1:3]")
    assert not same_tree(first.tree, other.tree)


def value_of(text: str) -> object:
    (item,) = parse_text(f"module m const A = {text}").tree.items
    assert isinstance(item, Const)
    return item.value


def test_generic_arguments_need_a_parenthesis_after_them() -> None:
    assert isinstance(value_of("f<A, B>(x)"), Call)
    assert isinstance(value_of("a < b && c > d"), Binary)


def test_reduction_bodies_extend_to_the_right() -> None:
    assert outline(value_of("sum[i] a[i] / n")) == outline(value_of("sum[i] a[i] / n"))
    assert type(value_of("sum[i] a[i] / n")).__name__ == "Reduction"
    assert type(value_of("(sum[i] a[i]) / n")).__name__ == "Binary"


def test_operators_bind_as_the_table_says() -> None:
    for shorter, full in [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a | b ^ c & d", "a | (b ^ (c & d))"),
        ("a < b == c < d", "(a < b) == (c < d)"),
        ("a || b && c", "a || (b && c)"),
    ]:
        flat = str(outline(value_of(full))).replace("'Paren', ", "")
        assert re.sub(r"[()\s]", "", flat) == re.sub(r"[()\s]", "", str(outline(value_of(shorter))))


def test_every_grammar_function_states_its_rule() -> None:
    source = Path(__import__("linnet.syntax", fromlist=["x"]).__file__).parent
    rules = set()
    for name in ("parser.py", "expressions.py", "types.py"):
        rules.update(re.findall(r'"""(\w+(?:-\w+)?) = ', (source / name).read_text()))
    assert {"file", "use", "item", "const", "stmt", "let", "pattern", "binary", "postfix"} <= rules
    assert Parser.where.__doc__ is not None
