"""Library or distribution -> what a contract can name: exported functions and schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .diagnostics import ContractError, Problem, order
from .elf import read_facts, read_symbols
from .environment import Distribution, Environment, find_distribution
from .files import is_file
from .schema_text import format_schema
from .schemas import Load, probe
from .symbols import read_library
from .tools import Tools, demangle, find_tools


@dataclass(frozen=True)
class RegisteredOperator:
    """One operator that a library registers with PyTorch's Dispatcher."""

    schema: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class InspectedLibrary:
    """What one library offers."""

    path: Path
    glob: str | None
    """The pattern that means it, relative to its distribution."""
    functions: tuple[str, ...]
    operators: tuple[RegisteredOperator, ...]


@dataclass(frozen=True)
class Inspection:
    """What was found, and what kept some of it from being found."""

    title: str
    libraries: tuple[InspectedLibrary, ...]
    problems: tuple[Problem, ...]


def inspect(
    target: str,
    *,
    environment: Environment | None = None,
    tools: Tools | None = None,
    grep: str = "",
    load: bool = True,
    seconds: float = 120.0,
) -> Inspection:
    """Lists the functions and schemas of a library file, or of every library of a distribution.

    Args:
        target: The path of a library, or the name of an installed distribution.
        environment: Where distributions are; by default those of this interpreter.
        tools: nm, readelf and c++filt; by default those on PATH.
        grep: A regular expression; only matching functions and schemas are listed.
        load: Whether to load the libraries in a child interpreter, for their schemas.
        seconds: How long the child may take.

    Raises:
        ContractError: There is no such file or distribution, or the tools are absent.
        re.error: `grep` is no regular expression.
    """
    environment = environment or Environment.current()
    expression = re.compile(grep)
    if tools is None:
        tools, absent = find_tools()
        if tools is None:
            raise ContractError(absent[0])
    if "/" in target or is_file(Path(target)):
        read_facts(Path(target))
        title = target
        paths: dict[Path, str | None] = {Path(target).resolve(): None}
    else:
        distribution = find_distribution(target, environment)
        title, paths = distribution.title, _libraries(distribution)
    functions: dict[Path, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            functions[path] = _functions(path, tools)
        except ContractError as error:
            problems.append(error.problem)
    operators: dict[Path, tuple[RegisteredOperator, ...]] = {}
    if load:
        operators, found = _operators(functions, environment, seconds)
        problems += found
    libraries = tuple(
        InspectedLibrary(
            path,
            paths[path],
            tuple(name for name in names if expression.search(name)),
            tuple(item for item in operators.get(path, ()) if expression.search(item.schema)),
        )
        for path, names in functions.items()
    )
    return Inspection(title, libraries, order(problems))


def _libraries(distribution: Distribution) -> dict[Path, str | None]:
    """The recorded libraries of a distribution, each with the pattern that means it."""
    recorded = {
        (distribution.root / path).resolve(): path.as_posix()
        for path in sorted(distribution.files)
        if re.search(r"\.so(\.\d+)*$", path.name)
    }
    for folder in distribution.editable:
        for path in sorted(folder.rglob("*.so")):
            recorded.setdefault(path.resolve(), path.relative_to(folder).as_posix())
    return {path: glob for path, glob in recorded.items() if is_file(path)}


def _functions(path: Path, tools: Tools) -> tuple[str, ...]:
    library = read_library(path, tools)
    symbols = [item for item in read_symbols(path) if item.is_function and not item.reason()]
    names = demangle(tools, [item.name for item in symbols])
    return tuple(sorted(library.exported & set(names)))


def _operators(
    paths: Iterable[Path], environment: Environment, seconds: float
) -> tuple[dict[Path, tuple[RegisteredOperator, ...]], list[Problem]]:
    operators = {}
    problems: list[Problem] = []
    answers: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        # Each in its own child: some wheels hold variants that register the same operators.
        found = probe([Load(path)], environment, seconds)
        answers.update(found.answers)
        problems += found.problems.values()
        if found.general is not None:
            return {}, [found.general]
    for path, answer in answers.items():
        if "not_loaded" in answer:
            problems.append(
                Problem(
                    "load-failed",
                    f"`{path.name}` cannot be loaded, so its schemas are not known",
                    got=str(answer["not_loaded"]).splitlines()[0],
                    help="install what it needs; --no-load leaves schemas out",
                )
            )
            continue
        operators[path] = tuple(
            RegisteredOperator(format_schema(item["schema"]), tuple(item["keys"]))
            for item in answer["operators"].values()
            if item is not None and item["schema"] is not None
        )
    return operators, problems
