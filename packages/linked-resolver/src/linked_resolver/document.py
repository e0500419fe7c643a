"""Contract file -> keys and values with their lines, under strict rules.

A contract is one mapping of plain keys to texts or lists of texts. Everything else that YAML has
(anchors, aliases, tags, directives, nesting, several documents) is an error. The parser's events
are used directly, so no value is ever constructed and nested input cannot exhaust the stack.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from .diagnostics import ContractError, Problem
from .files import open_file

GREATEST_SIZE = 64 * 1024
"""Bytes; a contract has a few hundred."""
_GREATEST_DEPTH = 8
_TEXT_TAG = "tag:yaml.org,2002:str"
_NULL_TAG = "tag:yaml.org,2002:null"
_KINDS = {
    "tag:yaml.org,2002:bool": "a boolean",
    "tag:yaml.org,2002:int": "an integer",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:timestamp": "a date",
    "tag:yaml.org,2002:value": "the YAML value `=`",
    "tag:yaml.org,2002:merge": "the YAML merge key",
}
_resolve_tag: Callable[..., str] = yaml.resolver.Resolver().resolve


@dataclass(frozen=True)
class Text:
    """A text with the line that it begins on."""

    value: str
    line: int


@dataclass(frozen=True)
class Entry:
    """One key with its value: one text, or the items of a list."""

    key: str
    line: int
    value: Text | tuple[Text, ...]


@dataclass(frozen=True)
class Rule:
    """What a key takes."""

    is_list: bool = False
    required: bool = False


@dataclass(frozen=True)
class Document:
    """The keys of one contract file that are as their rules say."""

    path: Path
    entries: Mapping[str, Entry]

    def text(self, key: str) -> Text | None:
        """The value of a key that takes one text; None if it is not given."""
        entry = self.entries.get(key)
        return entry.value if entry is not None and isinstance(entry.value, Text) else None

    def texts(self, key: str) -> tuple[Text, ...] | None:
        """The value of a key that takes a list; None if it is not given."""
        entry = self.entries.get(key)
        return entry.value if entry is not None and isinstance(entry.value, tuple) else None


def read_document(path: Path, rules: Mapping[str, Rule]) -> tuple[Document, list[Problem]]:
    """Reads a contract and compares it with `rules`; keys that break one are left out."""
    try:
        entries, problems = _parse(path, read_text(path))
    except ContractError as error:
        return Document(path, {}), [error.problem]
    kept: dict[str, Entry] = {}
    for entry in entries:
        found = _compare(path, entry, rules)
        if entry.key in kept:
            first = kept[entry.key].line
            found = [
                Problem(
                    "key-duplicate",
                    f"`{entry.key}` is given twice",
                    path.as_posix(),
                    entry.line,
                    entry.key,
                    expected="each key once",
                    got=f"lines {first} and {entry.line}",
                    help="delete one of them",
                )
            ]
        problems += found
        if not found:
            kept[entry.key] = entry
    seen = {entry.key for entry in entries} | {problem.key for problem in problems}
    problems += [
        Problem(
            "key-missing",
            f"`{key}` is not given",
            path.as_posix(),
            1,
            key,
            expected=f"the key `{key}`",
            got=", ".join(f"`{entry.key}`" for entry in entries) or "no key",
            help=f"add `{key}: ...`",
        )
        for key, rule in rules.items()
        if rule.required and key not in seen
    ]
    return Document(path, kept), problems


def read_text(path: Path, limit: int = GREATEST_SIZE) -> str:
    """The text of a small file of the source tree."""
    try:
        with open_file(path) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise ContractError(
            Problem(
                "contract-unreadable",
                f"the file cannot be read: {error.strerror}",
                path.as_posix(),
                help="make it a readable file",
            )
        ) from error
    if len(data) > limit:
        raise ContractError(
            Problem(
                "contract-unreadable",
                "the file is too large",
                path.as_posix(),
                expected=f"at most {limit} bytes",
                got=f"more than {limit} bytes",
                help="keep in the file only what belongs to it",
            )
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(
            Problem(
                "contract-unreadable",
                "the file is not UTF-8",
                path.as_posix(),
                data.count(b"\n", 0, error.start) + 1,
                expected="UTF-8 text",
                got=f"byte 0x{data[error.start]:02x} at offset {error.start}",
                help="save the file as UTF-8",
            )
        ) from error


def _parse(path: Path, text: str) -> tuple[list[Entry], list[Problem]]:
    reader = _Reader(path, yaml.parse(text, Loader=yaml.SafeLoader))
    try:
        return reader.document(), reader.problems
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        tab = "\\t" in (error.problem or "")
        raise ContractError(
            Problem(
                "yaml-syntax",
                f"the file is not YAML: {error.problem}",
                path.as_posix(),
                line,
                notes=(error.context,) if error.context else (),
                help="indent with spaces; YAML allows no tabs"
                if tab
                else "put quotes around a text that holds YAML's own signs",
            )
        ) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The scanner turns escapes and directives into numbers without catching what that raises.
        raise ContractError(
            Problem(
                "yaml-syntax",
                f"the file is not YAML: {str(error).splitlines()[0]}",
                path.as_posix(),
                help="delete control characters and escapes that are no character",
            )
        ) from error


class _Reader:
    """Turns events into entries; collects what is wrong with single keys."""

    def __init__(self, path: Path, events: Iterator[yaml.Event]) -> None:
        self._path = path
        self._events = events
        self.problems: list[Problem] = []

    def document(self) -> list[Entry]:
        entries: list[Entry] | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if entries is not None:
                    raise self._feature(event, "a second document")
                if event.version or event.tags:
                    raise self._feature(event, "a directive")
                entries = self._top()
        if entries is None:
            raise self._shape(1, "an empty file")
        return entries

    def _top(self) -> list[Entry]:
        event = self._next()
        if isinstance(event, yaml.ScalarEvent):
            empty = event.value == ""
            raise self._shape(_line(event), "an empty file" if empty else "a single text")
        if not isinstance(event, yaml.MappingStartEvent):
            raise self._shape(_line(event), "a list")
        entries = []
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise self._shape(_line(key), "a key that is no text")
            entry = self._entry(key)
            if entry is not None:
                entries.append(entry)
        return entries

    def _entry(self, key: yaml.ScalarEvent) -> Entry | None:
        event = self._next()
        if isinstance(event, yaml.ScalarEvent):
            text = self._text(key.value, event)
            return None if text is None else Entry(key.value, _line(key), text)
        if isinstance(event, yaml.MappingStartEvent):
            self._kind(key.value, event, "a mapping")
            self._skip()
            return None
        items = []
        whole = True
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                text = self._text(key.value, event)
                whole = whole and text is not None
                if text is not None:
                    items.append(text)
            else:
                is_list = isinstance(event, yaml.SequenceStartEvent)
                self._kind(key.value, event, "a list in a list" if is_list else "a mapping")
                self._skip()
                whole = False
        return Entry(key.value, _line(key), tuple(items)) if whole else None

    def _text(self, key: str, event: yaml.ScalarEvent) -> Text | None:
        tag = _TEXT_TAG
        if event.implicit[0]:
            tag = _resolve_tag(yaml.ScalarNode, event.value, (True, False))
        if tag == _NULL_TAG or not event.value.strip():
            self.problems.append(
                Problem(
                    "value-empty",
                    f"`{key}` has an empty value",
                    self._path.as_posix(),
                    _line(event),
                    key,
                    expected="a text",
                    got=f"`{event.value}`" if event.value else "nothing",
                    help="give the value, or delete the key if it may be absent",
                )
            )
            return None
        if tag != _TEXT_TAG:
            kind = _KINDS.get(tag, tag)
            self._kind(key, event, f"{kind}, `{event.value}`", f'quote it: "{event.value}"')
            return None
        return Text(event.value, _line(event))

    def _kind(
        self, key: str, event: yaml.Event, got: str, help: str = "write a text or a list of texts"
    ) -> None:
        self.problems.append(
            Problem(
                "value-kind",
                f"`{key}` takes texts",
                self._path.as_posix(),
                _line(event),
                key,
                expected="a text",
                got=got,
                help=help,
            )
        )

    def _next(self) -> yaml.Event:
        event = next(self._events)
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent):
            raise self._feature(event, f"the alias `*{anchor}`")
        if anchor is not None:
            raise self._feature(event, f"the anchor `&{anchor}`")
        if tag is not None:
            raise self._feature(event, f"the tag `{tag}`")
        return event

    def _skip(self) -> None:
        depth = 1
        while depth:
            event = self._next()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            # The scanner's time grows with the square of the depth.
            if depth > _GREATEST_DEPTH:
                raise self._shape(_line(event), "deep nesting")

    def _feature(self, event: yaml.Event, what: str) -> ContractError:
        return ContractError(
            Problem(
                "yaml-feature",
                f"contracts are plain YAML, without {what}",
                self._path.as_posix(),
                _line(event),
                expected="keys with texts or lists of texts",
                got=what,
                help="write the value out; quote a text that begins with `&`, `*` or `!`",
            )
        )

    def _shape(self, line: int, got: str) -> ContractError:
        return ContractError(
            Problem(
                "yaml-shape",
                "a contract is one mapping of keys",
                self._path.as_posix(),
                line,
                expected="lines of the form `key: value`",
                got=got,
                help="see the keys in the documentation of the contract files",
            )
        )


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _compare(path: Path, entry: Entry, rules: Mapping[str, Rule]) -> list[Problem]:
    """What is wrong with one entry under the rules."""
    rule = rules.get(entry.key)
    if rule is None:
        close = difflib.get_close_matches(entry.key[:100], rules, 1)
        return [
            Problem(
                "key-unknown",
                f"there is no key `{entry.key}`",
                path.as_posix(),
                entry.line,
                entry.key,
                expected=", ".join(f"`{key}`" for key in rules),
                got=f"`{entry.key}`",
                help=f"did you mean `{close[0]}`?" if close else "delete it",
            )
        ]
    if isinstance(entry.value, tuple) != rule.is_list:
        return [
            Problem(
                "value-kind",
                f"`{entry.key}` takes {'a list' if rule.is_list else 'one text'}",
                path.as_posix(),
                entry.line,
                entry.key,
                expected="a list of texts" if rule.is_list else "a text",
                got="a text" if rule.is_list else "a list",
                help="write each item on its own line after `- `"
                if rule.is_list
                else "write the text after the colon",
            )
        ]
    if isinstance(entry.value, Text):
        return []
    if not entry.value:
        return [
            Problem(
                "value-empty",
                f"`{entry.key}` is an empty list",
                path.as_posix(),
                entry.line,
                entry.key,
                expected="at least one item",
                got="[]",
                help="name an item, or delete the key if it may be absent",
            )
        ]
    problems = []
    first: dict[str, int] = {}
    for item in entry.value:
        if item.value in first:
            problems.append(
                Problem(
                    "value-duplicate",
                    f"`{entry.key}` names `{item.value}` twice",
                    path.as_posix(),
                    item.line,
                    entry.key,
                    expected="each item once",
                    got=f"lines {first[item.value]} and {item.line}",
                    help="delete one of them",
                )
            )
        first.setdefault(item.value, item.line)
    return problems
