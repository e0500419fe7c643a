"""What a user reads when something is wrong: one record per problem, and its text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

CODES = {
    # Reading contracts.
    "contract-unreadable": "A contract file cannot be read: missing, too large, or not UTF-8.",
    "yaml-syntax": "A contract file is not YAML.",
    "yaml-feature": "A contract uses anchors, aliases, tags, directives or several documents.",
    "yaml-shape": "A contract is not one mapping of plain keys.",
    "key-unknown": "A key does not exist.",
    "key-missing": "A key that must be given is not.",
    "key-duplicate": "A key is given twice.",
    "value-kind": "A value is not of the kind that its key takes.",
    "value-empty": "A value is empty.",
    "value-duplicate": "A list names the same thing twice.",
    "value-invalid": "A value of the right kind says nothing that the resolver understands.",
    "contract-form": "A contract has both forms, none, or half of one.",
    "library-undeclared": "A contract names a library that has no file beside `ops/`.",
    "headers-missing": "A tvm_ffi contract whose libraries give no `include_glob`.",
    "layout": "A file or folder lies where the layout has no place for it.",
    # Reading slots.
    "header-missing": "An implementation has no header beside its contract.",
    "source-missing": "An implementation has no source beside its contract, or two.",
    "slot-unreadable": "A header has no specialization of `Operator` that can be read, or several.",
    "slot-mismatch": "A header specializes another operator or device than its folder says.",
    "slot-range": "A slot is not in 16..31.",
    "slot-taken": "Two implementations of one operator and device have the same slot.",
    # Applying the selection.
    "selection": "The selection cannot be read or is malformed.",
    "selection-slot": "The selection asks for a linked slot that no contract has.",
    # Finding the library.
    "distribution-missing": "The Python distribution is not installed.",
    "distribution-ambiguous": "Two metadata folders of one name lie side by side.",
    "distribution-metadata": "The metadata of a distribution is broken or lists no files.",
    "distribution-version": "The installed version is not the one that is asked for.",
    "glob-no-match": "A pattern matches nothing that the distribution installed.",
    "glob-ambiguous": "A pattern matches more than one path.",
    "glob-missing-file": "The path that a pattern matches is recorded but is not there.",
    "glob-escape": "The path that a pattern matches leads out of the distribution.",
    "path-characters": "A path holds a character that CMake lists or run paths cannot hold.",
    "library-file": "A file is not an ELF shared library, or not for this machine.",
    "library-name": "Two libraries have one name for the dynamic loader.",
    "torch-missing": "The torch transport is selected and torch is not installed.",
    # Proving symbols.
    "tool-missing": "nm, readelf or c++filt is not on PATH.",
    "tool-failed": "A tool failed, hung, or printed what cannot be read.",
    "tool-disagreement": "nm and readelf say different things about one symbol.",
    "symbol-missing": "A library does not export a symbol.",
    "symbol-abi": "A symbol is there for the other ABI of std::string.",
    # Proving schemas.
    "load-forbidden": "A Dispatcher contract needs its library loaded, which --no-load forbids.",
    "python-tag": "A Dispatcher contract names an extension module of another Python.",
    "load-failed": "The library could not be loaded in the child interpreter.",
    "load-crashed": "The child interpreter died while it loaded the library.",
    "load-hung": "The child interpreter did not answer in time.",
    "schema-unparsable": "torch cannot parse the declared schema.",
    "schema-missing": "The library registers no operator of that name.",
    "schema-elsewhere": "The operator exists, but it is not this library that registers it.",
    "schema-differs": "The registered schema is another one than the declared.",
    "dispatch-key-unknown": "torch has no dispatch key of that name.",
    "dispatch-key-absent": "The operator has no kernel under the dispatch key.",
    # Writing.
    "output": "The manifest cannot be written.",
}
"""Every code with its meaning. A code never changes its meaning."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with what to do about it."""

    code: str
    message: str
    """One line that stands alone."""
    file: str | None = None
    line: int | None = None
    key: str | None = None
    expected: str | None = None
    got: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"Problem: code: expected one of CODES, got {self.code!r}")

    def render(self) -> str:
        """The text for a terminal, without colours."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.file is not None:
            place = self.file if self.line is None else f"{self.file}:{self.line}"
            lines.append(f"  --> {place}" + (f", key `{self.key}`" if self.key else ""))
        labelled = [("expected", self.expected), ("got", self.got)]
        labelled += [("note", note) for note in self.notes]
        labelled.append(("help", self.help))
        for label, text in labelled:
            if text is not None:
                first, *rest = text.splitlines() or [""]
                lines.append(f"  {label}: {first}")
                lines += [f"    {line}" for line in rest]
        return "\n".join(lines)


class ContractError(Exception):
    """Carries one problem from where it is found to the stage that collects problems."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.render())
        self.problem = problem


class ResolveError(Exception):
    """Resolving failed; `problems` tells everything that was found wrong."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(render(self.problems))


def render(problems: Iterable[Problem]) -> str:
    """The text of all problems, in order, with a blank line between them."""
    return "\n\n".join(problem.render() for problem in problems)


def order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems without repetitions, by file and line; those without a file come last."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda item: (item.file is None, item.file or "", item.line or 0))
    )


def at(problem: Problem, file: Path, line: int, key: str) -> Problem:
    """The problem, placed at a key of a contract."""
    return replace(problem, file=file.as_posix(), line=line, key=key)


def as_json(document: object) -> str:
    """JSON with sorted keys, in which the home folder of the user is `~`."""
    home = Path.home().as_posix().rstrip("/")

    def shorten(value: object) -> object:
        if isinstance(value, str):
            return value.replace(f"{home}/", "~/") if home else value
        if isinstance(value, dict):
            return {key: shorten(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [shorten(item) for item in value]
        return value

    return write_json(shorten(document))


def write_json(document: object) -> str:
    """JSON with sorted keys; a byte of a path that is no text is written as its escape."""
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
