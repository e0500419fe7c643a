"""The steps in order: read, select, locate, prove, write."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from .contracts import Implementation, SchemaContract, read_contracts
from .diagnostics import ContractError, Problem, at, order
from .environment import Distribution, Environment, find_distribution
from .globs import find_library
from .locate import Located, check_python_tag, locate
from .manifest import write
from .resolution import Resolution
from .schemas import SECONDS, Probe, plan_loads, probe, prove_schema
from .selection import Selection, apply_selection
from .symbols import LibrarySymbols, prove_symbols, read_library
from .tools import Tools, find_tools


def resolve(
    contracts: Path,
    output: Path,
    *,
    selection: Selection | None = None,
    devices: Collection[str] | None = None,
    environment: Environment | None = None,
    tools: Tools | None = None,
    load: bool = True,
    seconds: float = SECONDS,
) -> Resolution:
    """Proves the wanted contracts and writes the files of the output folder.

    Args:
        contracts: The folder `src/linked`.
        output: The folder `generated/linked` of a build; made if it is absent.
        selection: Which implementations are wanted; by default every one.
        devices: The devices of the build, by the names of their folders; by default every one.
        environment: Where the distributions are; by default those of this interpreter.
        tools: nm, readelf and c++filt; by default those on PATH.
        load: Whether libraries may be loaded in a child interpreter. Without, a Dispatcher
            contract cannot be proved and is a problem.
        seconds: How long one child interpreter may take.

    Returns:
        What was found out. If `ok` is false, `problems` says why and no manifest is there.

    Raises:
        ContractError: The output folder cannot be written.
    """
    resolution = prove(
        contracts,
        selection=selection,
        devices=devices,
        environment=environment,
        tools=tools,
        load=load,
        seconds=seconds,
    )
    write(resolution, output)
    return resolution


def prove(
    contracts: Path,
    *,
    selection: Selection | None = None,
    devices: Collection[str] | None = None,
    environment: Environment | None = None,
    tools: Tools | None = None,
    load: bool = True,
    seconds: float = SECONDS,
) -> Resolution:
    """As `resolve`, without writing anything."""
    environment = environment or Environment.current()
    everything, problems = read_contracts(contracts)
    if problems:
        # The slots of a faulty contract are not known, so nothing can be selected.
        return Resolution((), {}, order(problems))
    wanted, problems = apply_selection(everything, selection or Selection(), devices)
    located, found = locate(wanted, environment)
    problems += found
    torch = None
    if any(item.transport == "torch" for item in wanted):
        torch, found = _torch(wanted, environment)
        problems += found
    found, notes = _prove_contracts(wanted, located, environment, tools, load, seconds)
    return Resolution(wanted, located, order(problems + found), tuple(notes), torch)


def _torch(
    wanted: tuple[Implementation, ...], environment: Environment
) -> tuple[Distribution | None, list[Problem]]:
    try:
        return find_distribution("torch", environment), []
    except ContractError as error:
        item = next(item for item in wanted if item.transport == "torch")
        problem = Problem(
            "torch-missing",
            "the transport torch needs an installed torch",
            item.file.as_posix(),
            1,
            expected=f"torch in the environment of {environment.python}",
            got=error.problem.message,
            help="install the torch that the providers are made for",
        )
        return None, [problem]


def _prove_contracts(
    wanted: tuple[Implementation, ...],
    located: dict[str, Located],
    environment: Environment,
    tools: Tools | None,
    load: bool,
    seconds: float,
) -> tuple[list[Problem], list[str]]:
    """Proves the contracts of those implementations whose libraries are all located."""
    problems: list[Problem] = []
    notes: list[str] = []
    by_symbols, by_schema = [], []
    for item in wanted:
        if any(library.id not in located for library in item.libraries):
            continue
        found, remarks = check_python_tag(item, located[item.library.id], environment)
        problems += found
        notes += remarks
        if not isinstance(item.contract, SchemaContract):
            by_symbols.append(item)
        elif not found:
            by_schema.append(item)
    if by_symbols:
        problems += _prove_symbols(by_symbols, located, environment, tools)
    if by_schema:
        if load:
            problems += _prove_schemas(by_schema, located, environment, seconds)
        else:
            problems += [_forbidden(item) for item in by_schema]
    return problems, notes


def _prove_symbols(
    items: list[Implementation],
    located: dict[str, Located],
    environment: Environment,
    tools: Tools | None,
) -> list[Problem]:
    problems: list[Problem] = []
    if tools is None:
        tools, problems = find_tools()
        if tools is None:
            return problems
    read: dict[Path, LibrarySymbols | Problem] = {}
    torch_library: LibrarySymbols | None = None
    for item in items:
        path = located[item.library.id].path
        if path not in read:
            try:
                read[path] = read_library(path, tools)
            except ContractError as error:
                read[path] = error.problem
        library = read[path]
        if isinstance(library, Problem):
            problems.append(at(library, item.file, 1, "required_symbols"))
            continue
        found = prove_symbols(item, library, torch_library)
        if torch_library is None and any(problem.code == "symbol-abi" for problem in found):
            # Read only now: a proof needs nothing of torch.
            torch_library = _torch_library(environment, tools)
            found = prove_symbols(item, library, torch_library)
        problems += found
    return problems


def _torch_library(environment: Environment, tools: Tools) -> LibrarySymbols | None:
    try:
        distribution = find_distribution("torch", environment)
        return read_library(find_library(distribution, "torch/lib/libc10.so"), tools)
    except ContractError:
        # A torch that cannot be read has its own problem; here its ABI stays unknown.
        return None


def _prove_schemas(
    items: list[Implementation],
    located: dict[str, Located],
    environment: Environment,
    seconds: float,
) -> list[Problem]:
    by_distribution: dict[Path, list[Implementation]] = {}
    for item in items:
        distribution = located[item.library.id].distribution
        by_distribution.setdefault(distribution.metadata, []).append(item)
    problems = []
    for group in by_distribution.values():
        loads = plan_loads(
            (
                item,
                located[item.library.id].path,
                tuple(located[library.id].path for library in item.link_libraries),
            )
            for item in group
        )
        found: Probe = probe(loads, environment, seconds)
        for item in group:
            problems += prove_schema(item, located[item.library.id].path, found)
    return problems


def _forbidden(item: Implementation) -> Problem:
    assert isinstance(item.contract, SchemaContract)
    problem = Problem(
        "load-forbidden",
        "a Dispatcher contract cannot be proved without loading its library",
        expected="permission to load it in a child interpreter",
        got="--no-load",
        help="leave out --no-load, or select no implementation with a Dispatcher contract",
    )
    return at(problem, item.file, item.contract.schema.line, "operator_schema")
