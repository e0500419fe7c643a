"""The options of the build -> which linked implementations are wanted.

A selection is `INFINI_OPS_OPS`: nothing, a list of operators, or the path of an `ops.json`.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .contracts import Implementation
from .diagnostics import ContractError, Problem
from .files import open_file
from .headers import GREATEST_SLOT, LEAST_SLOT

_GREATEST_SIZE = 4 * 1024 * 1024


@dataclass(frozen=True)
class Choice:
    """What is wanted of one operator: everything, certain slots, or certain headers."""

    slots: frozenset[int] | None = None
    headers: frozenset[Path] | None = None

    def keeps(self, item: Implementation) -> bool:
        """Whether an implementation of the operator is wanted."""
        if self.headers is not None:
            return item.header.resolve() in self.headers
        return self.slots is None or item.slot.number in self.slots


@dataclass(frozen=True)
class Selection:
    """Operator -> choice; `operators` None wants every implementation."""

    operators: Mapping[str, Choice] | None = None
    origin: str = "everything"

    @staticmethod
    def of(slots: Mapping[str, Collection[int] | None], origin: str = "selection") -> Selection:
        """A selection that is parsed already: operator -> slots, or None for all of them."""
        return Selection(
            {
                name: Choice(None if chosen is None else frozenset(chosen))
                for name, chosen in slots.items()
            },
            origin,
        )


def parse_selection(ops: str, project: Path) -> Selection:
    """The selection that the text of `INFINI_OPS_OPS` means.

    Args:
        ops: Empty, operators separated by commas or semicolons, or a path: a text with a dot or
            a slash.
        project: The folder that relative header paths in an `ops.json` begin at.

    Raises:
        ContractError: The file cannot be read or is malformed.
    """
    text = ops.strip()
    if any(sign in text for sign in "./\\"):  # which no operator's name has
        return read_ops_json(Path(text), project)
    names = [name.strip() for name in text.replace(";", ",").split(",") if name.strip()]
    return Selection({name: Choice() for name in names}, "INFINI_OPS_OPS") if names else Selection()


def read_ops_json(path: Path, project: Path) -> Selection:
    """Reads an `ops.json` in the structured form or in the forms that name headers."""

    def refuse(message: str, got: str, help: str, key: str | None = None) -> ContractError:
        return ContractError(
            Problem(
                "selection",
                message,
                path.as_posix(),
                key=key,
                expected='operator: {"implementations": "all" or [slots]}, or the paths of headers',
                got=got,
                help=help,
            )
        )

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in pairs:
            if key in result:
                raise refuse(f"`{key}` is given twice", "the key twice", "delete one", key)
            result[key] = value
        return result

    try:
        with open_file(path) as stream:
            data = stream.read(_GREATEST_SIZE + 1)
    except OSError as error:
        text = error.strerror or "an error"
        raise refuse("the file cannot be read", text, "make it a readable file") from error
    if len(data) > _GREATEST_SIZE:
        raise refuse("the file is too large", "more than 4 MiB", "write only the selection")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise refuse("the file is not UTF-8", error.reason, "save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        text = "a value that is too large or too deep"
        if isinstance(error, json.JSONDecodeError):
            text = f"an error at line {error.lineno}, column {error.colno}"
        help = "write valid JSON, without comments and trailing commas"
        if data.startswith(codecs.BOM_UTF8):
            text, help = "a byte order mark", "save it without a byte order mark"
        raise refuse("the file is not JSON", text, help) from error
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise refuse("the file is no mapping", f"a {kind}", "map operators to implementations")
    choices = {}
    for name, entry in document.items():
        try:
            choices[name] = _choice(entry, project)
        except ValueError as error:
            got, help = error.args
            raise refuse(f"the entry of `{name}` is malformed", got, help, name) from error
    return Selection(choices, path.as_posix())


def _choice(entry: object, project: Path) -> Choice:
    if isinstance(entry, dict):
        if list(entry) != ["implementations"]:
            got = ", ".join(f"`{key}`" for key in entry) or "{}"
            raise ValueError(got, "give `implementations` and nothing else")
        return Choice(_slots(entry["implementations"]))
    if not isinstance(entry, (str, list)) or not entry:
        raise ValueError(json.dumps(entry), "select slots, or name at least one header")
    headers = []
    for item in [entry] if isinstance(entry, str) else entry:
        path = item
        if isinstance(item, dict) and set(item) <= {"path", "backend"}:
            path = item.get("path")
        if not isinstance(path, str) or not path:
            raise ValueError(json.dumps(item), 'write a path, or {"path": ..., "backend": ...}')
        try:
            headers.append((project / path).resolve())
        except ValueError as error:  # a character that no path has
            raise ValueError(json.dumps(path), "name a header that is there") from error
    return Choice(headers=frozenset(headers))


def _slots(value: object) -> frozenset[int] | None:
    if value == "all":
        return None
    if not isinstance(value, list) or not value:
        raise ValueError(json.dumps(value), 'write "all" or a list with at least one slot')
    for slot in value:
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot <= GREATEST_SLOT:
            raise ValueError(json.dumps(slot), f"a slot is an integer from 0 to {GREATEST_SLOT}")
        if value.count(slot) > 1:
            raise ValueError(f"slot {slot} twice", "name each slot once")
    return frozenset(value)


def apply_selection(
    implementations: Iterable[Implementation],
    selection: Selection,
    devices: Collection[str] | None,
) -> tuple[tuple[Implementation, ...], list[Problem]]:
    """The implementations that are wanted for `devices` (None: for every device).

    Operators and slots below 16 that have no linked implementation are no error: they are native.
    """
    everything = tuple(implementations)
    wanted = [item for item in everything if devices is None or item.device in devices]
    if selection.operators is None:
        return tuple(wanted), []
    choices = selection.operators
    problems = []
    for name, choice in choices.items():
        there = {item.slot.number: item for item in everything if item.operator == name}
        for slot in sorted((choice.slots or frozenset()) - there.keys()):
            if slot >= LEAST_SLOT:
                problems.append(
                    Problem(
                        "selection-slot",
                        f"`{name}` has no linked implementation in slot {slot}",
                        selection.origin,
                        key=name,
                        expected=", ".join(
                            f"{number} ({there[number].id})" for number in sorted(there)
                        )
                        or "no linked slot; the operator has none",
                        got=str(slot),
                        help="select a slot that exists, or add a contract with that slot",
                    )
                )
    kept = [
        item for item in wanted if item.operator in choices and choices[item.operator].keeps(item)
    ]
    return tuple(kept), problems
