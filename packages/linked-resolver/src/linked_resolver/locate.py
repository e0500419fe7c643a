"""Wanted implementations -> the files of their libraries in the Python environment."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .contracts import Implementation, Library, SchemaContract
from .diagnostics import ContractError, Problem, at
from .elf import ElfFacts, read_facts, read_machine
from .environment import (
    Distribution,
    Environment,
    check_version,
    find_distribution,
    other_python,
)
from .globs import find_include, find_library

# CMake ends list items at `;`, the loader ends run paths at `:` and replaces `$`.
# The last range stands for bytes that are no UTF-8.
_REFUSED = re.compile(r'[;:$"\\\x00-\x1f\x7f\udc80-\udcff]')


@dataclass(frozen=True)
class Located:
    """A library with the distribution and the files that it was found in."""

    library: Library
    distribution: Distribution
    path: Path
    include: Path | None
    facts: ElfFacts

    @property
    def loader_name(self) -> str:
        """What the dynamic loader knows it by."""
        return self.facts.soname or self.path.name


def locate(
    implementations: Iterable[Implementation], environment: Environment
) -> tuple[dict[str, Located], list[Problem]]:
    """Finds each library that the implementations name, by its id."""
    libraries = {library.id: library for item in implementations for library in item.libraries}
    found: dict[str, Located] = {}
    problems: list[Problem] = []
    distributions: dict[str, Distribution | Problem] = {}
    for library in libraries.values():
        name = library.distribution.value
        if name not in distributions:
            try:
                distributions[name] = find_distribution(name, environment)
            except ContractError as error:
                distributions[name] = error.problem
        distribution = distributions[name]
        if isinstance(distribution, Problem):
            line = library.distribution.line
            problems.append(at(distribution, library.file, line, "python_distribution_package"))
            continue
        located, faults = _locate(library, distribution, environment)
        problems += faults
        if located is not None:
            found[library.id] = located
    problems += _name_clashes(found.values())
    return found, problems


def _locate(
    library: Library, distribution: Distribution, environment: Environment
) -> tuple[Located | None, list[Problem]]:
    problems: list[Problem] = []
    if library.version is not None:
        problem = check_version(distribution, library.version.value)
        if problem is not None:
            line = library.version.line
            # Nothing of another version is looked at: what it lacks would only distract.
            return None, [at(problem, library.file, line, "python_distribution_version")]
    path = include = facts = None
    glob = library.library_glob
    try:
        path = find_library(distribution, glob.value)
        _check_characters(path)
        facts = read_facts(path)
        _check_machine(path, facts, environment)
    except ContractError as error:
        problems.append(at(error.problem, library.file, glob.line, "library_glob"))
    if library.include_glob is not None:
        try:
            include = find_include(distribution, library.include_glob.value)
            _check_characters(include)
        except ContractError as error:
            line = library.include_glob.line
            problems.append(at(error.problem, library.file, line, "include_glob"))
    if problems or path is None or facts is None:
        return None, problems
    return Located(library, distribution, path, include, facts), []


def _check_characters(path: Path) -> None:
    match = _REFUSED.search(str(path))
    if match is not None:
        raise ContractError(
            Problem(
                "path-characters",
                f"`{path.name}` lies in a path that the build cannot hold",
                expected='a path in UTF-8 without `;`, `:`, `$`, `"`, backslash and control '
                "characters",
                got=f"{str(path)!r}",
                help="install the environment under another path",
            )
        )


def _check_machine(path: Path, facts: ElfFacts, environment: Environment) -> None:
    machine, bits = read_machine(environment.python.resolve())
    if (facts.machine, facts.bits) != (machine, bits):
        raise ContractError(
            Problem(
                "library-file",
                f"`{path.name}` is made for another machine",
                expected=f"{machine}, {bits} bits, as {environment.python}",
                got=f"{facts.machine}, {facts.bits} bits",
                notes=(f"the file is {path}",),
                help="install the wheel of this machine",
            )
        )


def _name_clashes(found: Iterable[Located]) -> list[Problem]:
    """Two files with one name: the loader would take the first for both."""
    problems = []
    first: dict[str, Located] = {}
    for item in found:
        other = first.setdefault(item.loader_name, item)
        if other.path != item.path:
            problem = Problem(
                "library-name",
                f"two libraries are `{item.loader_name}` for the dynamic loader",
                expected="libraries with different names in one build",
                got=f"{other.path} (of {other.library.id})\n{item.path} (of {item.library.id})",
                help="select implementations that need only one of them",
            )
            line = item.library.library_glob.line
            problems.append(at(problem, item.library.file, line, "library_glob"))
    return problems


def check_python_tag(
    item: Implementation, located: Located, environment: Environment
) -> tuple[list[Problem], list[str]]:
    """Problems and notes about a library that is an extension module of another Python. Its
    symbols may be linked against; it is not loaded for a Dispatcher contract."""
    tag = other_python(located.path, environment)
    if tag is None:
        return [], []
    own = environment.extension_suffix.strip(".").split(".")[0]
    if not isinstance(item.contract, SchemaContract):
        return [], [
            f"{item.id}: {located.path.name} is an extension module of {tag}, this Python is "
            f"{own}; only its symbols are used"
        ]
    problem = Problem(
        "python-tag",
        f"`{located.path.name}` is an extension module of another Python",
        expected=f"a library for {own}, or one without a Python's tag",
        got=f"one for {tag}",
        notes=(f"the library is {located.path}",),
        help="install the wheel of this Python; a contract of symbols needs no loading",
    )
    return [at(problem, item.file, item.contract.schema.line, "operator_schema")], []
