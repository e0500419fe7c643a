"""A YAML document whose every value knows its line, read without any freedom.

Unknown keys, duplicate keys and values of the wrong kind are errors that name file and line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml


class DeclarationError(Exception):
    """A declaration says something that is not allowed; the text starts with file and line."""


@dataclass(frozen=True)
class Value:
    """One node of a document, with where it stands and how to say so."""

    path: Path
    line: int
    key: str
    node: yaml.Node

    def error(self, message: str) -> DeclarationError:
        """The exception for a mistake at this place."""
        key = f"{self.key}: " if self.key else ""
        return DeclarationError(f"{self.path}:{self.line}: {key}{message}")

    def text(self) -> str:
        """The value as a non-empty string; numbers and bools are not strings."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == "tag:yaml.org,2002:str":
            text = " ".join(self.node.value.split())
            if text:
                return text
        raise self.error(f"expected text, got {self._kind()}")

    def integer(self) -> int:
        """The value as an integer."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"expected an integer, got {self._kind()}")
        return value

    def number(self) -> int | float:
        """The value as a number."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"expected a number, got {self._kind()}")
        return value

    def boolean(self) -> bool:
        """The value as true or false."""
        value = self._scalar()
        if not isinstance(value, bool):
            raise self.error(f"expected true or false, got {self._kind()}")
        return value

    def texts(self) -> tuple[str, ...]:
        """The value as a list of strings; a single string is a list of one."""
        if isinstance(self.node, yaml.SequenceNode):
            return tuple(
                Value(self.path, item.start_mark.line + 1, f"{self.key}[{index}]", item).text()
                for index, item in enumerate(self.node.value)
            )
        return (self.text(),)

    def items(self) -> tuple[Value, ...]:
        """The values of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error(f"expected a list, got {self._kind()}")
        return tuple(
            Value(self.path, item.start_mark.line + 1, f"{self.key}[{index}]", item)
            for index, item in enumerate(self.node.value)
        )

    def plain(self) -> object:
        """The value as what it stands for: numbers, texts, lists and mappings."""
        value: object = yaml.safe_load(yaml.serialize(self.node))
        return value

    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.node, yaml.MappingNode)

    def mapping(self) -> Mapping:
        """The value as a mapping."""
        return Mapping(self)

    def scalar(self) -> bool | int | float | str:
        """The value as a bool, number or text."""
        value = self._scalar()
        if not isinstance(value, (bool, int, float, str)):
            raise self.error(f"expected a bool, number or text, got {self._kind()}")
        return value

    def _scalar(self) -> object:
        if not isinstance(self.node, yaml.ScalarNode):
            return None
        value: object = yaml.safe_load(yaml.serialize(self.node))
        return value

    def _kind(self) -> str:
        if isinstance(self.node, yaml.MappingNode):
            return "a mapping"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return repr(self.node.value)


class Mapping:
    """A mapping with text keys, each used once. `finish` refuses the keys that nobody read."""

    def __init__(self, value: Value) -> None:
        if not isinstance(value.node, yaml.MappingNode):
            raise value.error(f"expected a mapping, got {value._kind()}")
        self._value = value
        self._items: dict[str, Value] = {}
        self._read: set[str] = set()
        for key_node, item in value.node.value:
            line = key_node.start_mark.line + 1
            name = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            where = f"{value.key}.{name}" if value.key else name
            if not isinstance(key_node, yaml.ScalarNode) or not key_node.tag.endswith(":str"):
                raise Value(value.path, line, where, key_node).error("keys must be text")
            if name in self._items:
                first = self._items[name].line
                raise Value(value.path, line, where, item).error(f"already given on line {first}")
            self._items[name] = Value(value.path, line, where, item)

    def required(self, key: str) -> Value:
        """The value of `key`, which must be there."""
        self._read.add(key)
        if key not in self._items:
            near = _near(key, set(self._items) - self._read)
            hint = f"; `{near}` on line {self._items[near].line} looks like it" if near else ""
            raise self._value.error(f"the key `{key}` is missing{hint}")
        return self._items[key]

    def optional(self, key: str) -> Value | None:
        """The value of `key`, or None when it is not there."""
        self._read.add(key)
        return self._items.get(key)

    def items(self) -> Iterator[tuple[str, Value]]:
        """Every key in the order of the document."""
        for key, value in self._items.items():
            self._read.add(key)
            yield key, value

    def finish(self) -> None:
        """Refuse keys that were not asked for."""
        for key, value in self._items.items():
            if key not in self._read:
                near = _near(key, self._read)
                hint = f"did you mean `{near}`? " if near else ""
                allowed = ", ".join(sorted(self._read))
                raise value.error(f"unknown key; {hint}allowed here: {allowed}")


def _near(key: str, others: set[str]) -> str | None:
    """The one of `others` that `key` is most like; None where none is."""
    found = difflib.get_close_matches(key[:100], sorted(others), 1)
    return found[0] if found else None


def read_document(path: Path) -> Mapping:
    """Parse the YAML file `path`, which must hold one mapping."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{path}:1: not UTF-8: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DeclarationError(f"{path}:{line}: not YAML: {error.problem}") from error
    if node is None:
        raise DeclarationError(f"{path}:1: the file is empty")
    return Mapping(Value(path, node.start_mark.line + 1, "", node))
