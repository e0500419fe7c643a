from typing import Any

import pytest

from linked_resolver.schema_text import compare, format_schema


def argument(name: str, type_: str = "Tensor", **parts: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": type_,
        "length": None,
        "alias": None,
        "default": None,
        "keyword_only": False,
        **parts,
    }


def schema(
    *arguments: dict[str, Any], returns: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {
        "name": "n::f",
        "overload": "",
        "arguments": list(arguments),
        "returns": [argument("")] if returns is None else returns,
    }


def default(kind: str, exact: str, text: str) -> dict[str, str]:
    return {"kind": kind, "exact": exact, "text": text}


WRITES = {"writes": True, "sets": [["a"], ["a"]]}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "Tensor x"),
        ({"type_": "int[]?", "length": 2}, "int[2]? x"),
        ({"type_": "Tensor?[]"}, "Tensor?[] x"),
        ({"type_": "SymInt?"}, "SymInt? x"),
        ({"type_": "int[][]", "length": 3}, "int[][3] x"),
        ({"type_": "Tensor[]", "alias": WRITES}, "Tensor(a!)[] x"),
        ({"alias": {"writes": False, "sets": [["a"], ["*"]]}}, "Tensor(a -> *) x"),
        ({"default": default("NoneType", "None", "None")}, "Tensor x=None"),
        ({"type_": "str", "default": default("str", "'a\"'", "'a\"'")}, 'str x="a\\""'),
        ({"keyword_only": True}, "*, Tensor x"),
    ],
)
def test_types_are_written_as_in_contracts(parts: dict[str, Any], text: str) -> None:
    assert format_schema(schema(argument("x", **parts))) == f"n::f({text}) -> Tensor"


def test_returns_are_written_as_in_contracts() -> None:
    assert format_schema(schema(returns=[])) == "n::f() -> ()"
    assert format_schema(schema(returns=[argument("y")])) == "n::f() -> (Tensor y)"
    two = [argument("", "int"), argument("")]
    assert format_schema(schema(returns=two)) == "n::f() -> (int, Tensor)"


def test_an_overload_is_part_of_the_name() -> None:
    changed = {**schema(), "overload": "out"}
    assert format_schema(changed) == "n::f.out() -> Tensor"
    assert compare(schema(), changed) == ["overload: declared ``, registered `out`"]


def test_numbers_are_compared_bit_by_bit() -> None:
    mine = schema(argument("e", "float", default=default("float", (1e-6).hex(), "1e-06")))
    same = schema(argument("e", "float", default=default("float", (1e-6).hex(), "9.9999e-07")))
    other = schema(argument("e", "int", default=default("int", "0", "0")))
    assert compare(mine, same) == []
    assert compare(mine, other) == [
        "argument 1 `e`, type: declared `float`, registered `int`",
        "argument 1 `e`, default: declared `1e-06`, registered `0`",
    ]
