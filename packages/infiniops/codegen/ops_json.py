"""Reads an `ops.json`; docs/infiniops/selection.md describes its forms.

{OPERATOR: {"implementations": "all"}}
{OPERATOR: {"implementations": [SLOT, ...]}}
{OPERATOR: "HEADER"}
{OPERATOR: ["HEADER", {"path": "HEADER", "backend": "NAME"}, ...]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .implementations import GREATEST_SLOT, Header

EXPECTED = (
    'expected {"implementations": "all"}, {"implementations": [SLOT, ...]}, a header, or a list of '
    'headers and {"path": HEADER, "backend": NAME}'
)
STANDARD_BACKENDS = ("native", "torch", "ninetoothed", "triton", "linked")
"""Folders below `src/`, each named for the back end whose implementations it holds."""


class SelectionError(Exception):
    """The selection names something that is not there, or is malformed."""


@dataclass(frozen=True)
class Selected:
    """What the file says about one operator: slots (None: all of them), or headers."""

    slots: frozenset[int] | None = None
    headers: tuple[Header, ...] = ()
    declaration: Path | None = None
    """Of an operator that `src/base` does not declare: the file beside its first header."""


def read_ops_json(path: Path, names: Sequence[str], root: Path) -> dict[str, Selected]:
    """Read the file: operator -> what is built of it.

    Args:
        path: The file.
        names: The operators that `src/base` declares.
        root: Where relative header paths start.

    Raises:
        SelectionError: One line with file, key, what it has, and what it may have.
    """
    document = _load(path)
    if not isinstance(document, dict):
        raise SelectionError(
            f"{path}: expected an object whose keys are operators, got {_text(document)}"
        )
    if not document:
        raise SelectionError(f"{path}: selects no operator; there are {', '.join(names)}")
    return {name: _Entry(path, name, names, root).read(value) for name, value in document.items()}


def _load(path: Path) -> object:
    def refuse(message: str) -> SelectionError:
        return SelectionError(f"{path}: {message}")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise refuse(f"{key}: the key is given twice")
        return dict(pairs)

    def no_number(constant: str) -> object:
        raise refuse(f"{constant} is no JSON")

    try:
        if path.exists() and not path.is_file():
            raise refuse("is no file")
        text = path.read_text(encoding="utf-8")
        if text.startswith("\ufeff"):
            raise refuse("begins with a byte order mark; save it as UTF-8 without one")
        document: object = json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise refuse(f"is not UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise refuse(
            f"line {error.lineno}, column {error.colno}: is not JSON: {error.msg}"
        ) from error
    except RecursionError as error:
        raise refuse("is nested too deeply") from error
    except ValueError as error:  # an integer with more digits than Python converts
        raise refuse(f"is not JSON: {error}") from error
    return document


@dataclass(frozen=True)
class _Entry:
    """One key of the file."""

    path: Path
    name: str
    names: Sequence[str]
    root: Path

    def read(self, value: object) -> Selected:
        if isinstance(value, dict):
            self._require_declared()
            if list(value) != ["implementations"]:
                raise self._error(f"{EXPECTED}; got an object with {_keys(value)}")
            return Selected(slots=self._slots(value["implementations"]))
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            raise self._error(f"{EXPECTED}; got {_text(value)}")
        if not value:
            raise self._error("the list of headers is empty; leave the operator out instead")
        headers = tuple(self._header(item) for item in value)
        for header in headers:
            if [other.path for other in headers].count(header.path) > 1:
                raise self._error(f"{header.path} is given twice")
        return Selected(headers=headers, declaration=self._declaration(headers[0]))

    def _error(self, message: str) -> SelectionError:
        return SelectionError(f"{self.path}: {self.name}: {message}")

    def _require_declared(self) -> None:
        if self.name not in self.names:
            raise self._error(f"is no operator; there are {', '.join(self.names)}")

    def _slots(self, value: object) -> frozenset[int] | None:
        if value == "all":
            return None
        if not isinstance(value, list) or not value:
            raise self._error(
                f'`implementations` must be "all" or a list of slots that is not empty, got '
                f"{_text(value)}"
            )
        for slot in value:
            if (
                isinstance(slot, bool)
                or not isinstance(slot, int)
                or not 0 <= slot <= GREATEST_SLOT
            ):
                raise self._error(
                    f"{_text(slot)} is no slot; slots are integers from 0 to {GREATEST_SLOT}"
                )
        for slot in value:  # once all are integers, since False equals 0
            if value.count(slot) > 1:
                raise self._error(f"slot {slot} is given twice")
        return frozenset(value)

    def _header(self, item: object) -> Header:
        backend: object = None
        path: object = item
        if isinstance(item, dict):
            if sorted(item) != ["backend", "path"]:
                raise self._error(
                    'expected {"path": HEADER, "backend": NAME}, got an object with '
                    f"{_keys(item)}"
                )
            path, backend = item["path"], item["backend"]
            if not isinstance(backend, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", backend):
                raise self._error(
                    f"{_text(backend)} is no name of a back end; one is in lower case, as "
                    f"{', '.join(STANDARD_BACKENDS)}, or your own"
                )
        if not isinstance(path, str) or not path:
            raise self._error(
                f'expected a header or {{"path": HEADER, "backend": NAME}}, got {_text(path)}'
            )
        if "generated" in Path(path).parts:
            raise self._error(
                f"{path} is made by the build, so it cannot be named; select it by slot: "
                '{"implementations": [SLOT, ...]}'
            )
        full = Path(*_normal(self.root / path))
        if not _is_file(full):
            raise self._error(f"there is no header {path} (looked for it at {full})")
        return Header(full, backend if isinstance(backend, str) else self._backend(path, full))

    def _backend(self, path: str, full: Path) -> str:
        source = self.root / "src"
        if full.is_relative_to(source):
            folder = full.relative_to(source).parts[0]
            if folder in STANDARD_BACKENDS:
                return folder
        raise self._error(
            f"{path} lies in none of src/{{{','.join(STANDARD_BACKENDS)}}}, so say its back end: "
            f'{{"path": "{path}", "backend": NAME}}'
        )

    def _declaration(self, first: Header) -> Path | None:
        if self.name in self.names:
            return None
        path = first.path.parent / f"{self.name}.yaml"
        if not _is_file(path):
            raise self._error(
                f"is no operator, and there is no declaration {path} beside its header; the "
                f"operators are {', '.join(self.names)}"
            )
        return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is longer than any
        return False


def _normal(path: Path) -> Sequence[str]:
    """The parts of `path` without `.` and `..`; links stay what they are."""
    parts: list[str] = []
    for part in path.absolute().parts:
        if part == "..":
            del parts[max(len(parts) - 1, 1) :]
        else:
            parts.append(part)
    return parts


def _text(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _keys(value: dict[str, object]) -> str:
    return ", ".join(f"`{key}`" for key in value) or "no key"
