"""Parsed operator schemas: their differences, and their text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
"""What `probe.describe` returns: name, overload, arguments and returns as plain values."""


def compare(declared: Schema, registered: Schema) -> list[str]:
    """Every difference between two schemas, each as one line; empty if they are the same."""
    found = []
    for part in ("name", "overload"):
        if declared[part] != registered[part]:
            found.append(f"{part}: declared `{declared[part]}`, registered `{registered[part]}`")
    found += _compare_all("argument", declared["arguments"], registered["arguments"])
    found += _compare_all("return", declared["returns"], registered["returns"])
    return found


def _compare_all(
    what: str, declared: Sequence[Mapping[str, Any]], registered: Sequence[Mapping[str, Any]]
) -> list[str]:
    if len(declared) != len(registered):
        return [f"number of {what}s: declared {len(declared)}, registered {len(registered)}"]
    found = []
    for position, (mine, theirs) in enumerate(zip(declared, registered, strict=True), 1):
        title = f"{what} {position}" + (f" `{mine['name']}`" if mine["name"] else "")
        for part, text in _PARTS.items():
            if part in mine and _exact(mine[part]) != _exact(theirs[part]):
                found.append(
                    f"{title}, {text}: declared {_show(part, mine)}, "
                    f"registered {_show(part, theirs)}"
                )
    return found


_PARTS = {
    "name": "name",
    "type": "type",
    "length": "length of the list",
    "alias": "mutability",
    "default": "default",
    "keyword_only": "keyword only",
}


def _exact(value: Any) -> Any:
    if isinstance(value, Mapping) and "exact" in value:
        return value["kind"], value["exact"]
    return value


def _show(part: str, argument: Mapping[str, Any]) -> str:
    value = argument[part]
    if part == "alias":
        return f"`{_alias(value)}`" if value is not None else "none"
    if part == "default":
        return f"`{_default(value)}`" if value is not None else "none"
    if part == "keyword_only":
        return "yes" if value else "no"
    return f"`{value}`" if value not in (None, "") else "none"


def format_schema(schema: Schema) -> str:
    """The schema as it is written in a contract."""
    name = schema["name"] + (f".{schema['overload']}" if schema["overload"] else "")
    arguments = []
    keyword_only = False
    for argument in schema["arguments"]:
        if argument["keyword_only"] and not keyword_only:
            arguments.append("*")
            keyword_only = True
        text = f"{_type(argument)} {argument['name']}"
        if argument["default"] is not None:
            text += f"={_default(argument['default'])}"
        arguments.append(text)
    returns = [
        _type(item) + (f" {item['name']}" if item["name"] else "") for item in schema["returns"]
    ]
    single = len(returns) == 1 and not schema["returns"][0]["name"]
    return f"{name}({', '.join(arguments)}) -> " + (
        returns[0] if single else f"({', '.join(returns)})"
    )


def _type(argument: Mapping[str, Any]) -> str:
    """The type with the length of its outermost list and its alias label in their places."""
    text = str(argument["type"])
    element = re.sub(r"(\[\]|\?)*$", "", text)
    suffix = text[len(element) :]
    if argument["length"] is not None:
        before, _, after = suffix.rpartition("[]")
        suffix = f"{before}[{argument['length']}]{after}"
    alias = argument["alias"]
    # `Tensor(a!)[]` and `Tensor(a!)?` have the label after the element type.
    return element + (f"({_alias(alias)})" if alias is not None else "") + suffix


def _alias(alias: Mapping[str, Any]) -> str:
    before, after = ("|".join(group) for group in alias["sets"])
    return before + ("!" if alias["writes"] else "") + (f" -> {after}" if after != before else "")


def _default(value: Mapping[str, Any]) -> str:
    text = str(value["text"])
    if value["kind"] == "str":
        return '"' + text[1:-1].replace('"', '\\"') + '"'
    return text
