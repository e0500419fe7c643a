"""`src/linked/` -> libraries and implementations.

<transport>/<device>/<library>.yaml
<transport>/<device>/ops/<operator>/<implementation>.{yaml,h,cc|cu}
<transport>/shared/    templates of the transport, which are not looked at
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .diagnostics import ContractError, Problem, at
from .document import Document, Rule, Text, read_document
from .files import is_file, is_folder
from .headers import Slot, declares_slot, read_slot
from .values import (
    SCHEMA,
    check_distribution,
    check_glob,
    check_schema,
    check_symbol,
    check_version_specifier,
)

TRANSPORTS = ("torch", "tvm_ffi")
SHARED = "shared"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SOURCES = (".cc", ".cu")

LIBRARY_RULES = {
    "python_distribution_package": Rule(required=True),
    "library_glob": Rule(required=True),
    "include_glob": Rule(),
    "python_distribution_version": Rule(),
}
IMPLEMENTATION_RULES = {
    "library": Rule(required=True),
    "required_symbols": Rule(is_list=True),
    "operator_schema": Rule(),
    "dispatch_key": Rule(),
    "link_libraries": Rule(is_list=True),
}


@dataclass(frozen=True)
class Library:
    """Where to find one shared library and the headers that belong to it."""

    name: str
    transport: str
    device: str
    file: Path
    distribution: Text
    library_glob: Text
    include_glob: Text | None
    version: Text | None

    @property
    def id(self) -> str:
        """The name that tells it from every other library: `torch/cpu/vllm`."""
        return f"{self.transport}/{self.device}/{self.name}"


@dataclass(frozen=True)
class SymbolContract:
    """The exact demangled symbols that a source needs."""

    symbols: tuple[Text, ...]


@dataclass(frozen=True)
class SchemaContract:
    """The operator that a library must register with PyTorch's Dispatcher."""

    schema: Text
    dispatch_key: Text

    @property
    def operator(self) -> tuple[str, str]:
        """Qualified name and overload: `("_C::rms_norm", "")`."""
        match = SCHEMA.fullmatch(self.schema.value)
        assert match is not None  # `_read_contract` has compared it
        return match["name"], match["overload"] or ""


@dataclass(frozen=True)
class Implementation:
    """One linked implementation: its files, slot, libraries and contract."""

    operator: str
    device: str
    transport: str
    name: str
    slot: Slot
    file: Path
    header: Path
    source: Path
    library: Library
    link_libraries: tuple[Library, ...]
    contract: SymbolContract | SchemaContract

    @property
    def id(self) -> str:
        """The name that tells it from every other: `torch/cpu/silu_and_mul/vllm`."""
        return f"{self.transport}/{self.device}/{self.operator}/{self.name}"

    @property
    def libraries(self) -> tuple[Library, ...]:
        """Its library, then those that this one depends on."""
        return (self.library, *self.link_libraries)


def read_contracts(root: Path) -> tuple[tuple[Implementation, ...], list[Problem]]:
    """Reads every contract under `root`, whatever is selected: they are part of the sources."""
    if not is_folder(root):
        problem = Problem(
            "layout",
            "the folder of the contracts does not exist",
            root.as_posix(),
            expected="a folder <transport>/<device>/",
            got="no folder",
            help="pass the folder `src/linked`",
        )
        return (), [problem]
    problems: list[Problem] = []
    implementations: list[Implementation] = []
    used: set[Path] = set()
    for transport in TRANSPORTS:
        for device in _folders(root / transport):
            if device.name == SHARED:
                used.update(device.rglob("*"))
                continue
            libraries = {}
            for file in sorted(device.glob("*.yaml")):
                used.add(file)
                library, found = _read_library(file, transport, device.name)
                problems += found
                libraries[file.stem] = library
            for operator in _folders(device / "ops"):
                for file in sorted(operator.glob("*.yaml")):
                    files = {file.with_suffix(suffix) for suffix in (".yaml", ".h", *_SOURCES)}
                    used |= files
                    implementation, found = _read_implementation(file, transport, libraries)
                    problems += found
                    if implementation is not None:
                        implementations.append(implementation)
    problems += _strays(root, used)
    problems += _taken_slots(implementations)
    return tuple(implementations), problems


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if is_folder(path)) if is_folder(parent) else []


def _read_library(file: Path, transport: str, device: str) -> tuple[Library | None, list[Problem]]:
    document, problems = read_document(file, LIBRARY_RULES)
    problems += _name_problems(file, file.stem, device)
    distribution = document.text("python_distribution_package")
    library_glob = document.text("library_glob")
    include_glob = document.text("include_glob")
    version = document.text("python_distribution_version")
    checks: list[tuple[str, Text | None, Callable[[str], Problem | None]]] = [
        ("python_distribution_package", distribution, check_distribution),
        ("library_glob", library_glob, check_glob),
        ("include_glob", include_glob, check_glob),
        ("python_distribution_version", version, check_version_specifier),
    ]
    for key, text, check in checks:
        if text is not None and (problem := check(text.value)) is not None:
            problems.append(at(problem, file, text.line, key))
    if problems or distribution is None or library_glob is None:
        return None, problems
    return (
        Library(
            file.stem, transport, device, file, distribution, library_glob, include_glob, version
        ),
        [],
    )


def _name_problems(file: Path, *names: str) -> list[Problem]:
    return [
        Problem(
            "layout",
            f"`{name}` is no name of a library, device, operator or implementation",
            file.as_posix(),
            expected="lower-case letters, digits and `_`",
            got=f"`{name}`",
            help="rename it",
        )
        for name in names
        if not _NAME.fullmatch(name)
    ]


def _read_implementation(
    file: Path, transport: str, libraries: dict[str, Library | None]
) -> tuple[Implementation | None, list[Problem]]:
    operator, device = file.parent.name, file.parents[2].name
    document, problems = read_document(file, IMPLEMENTATION_RULES)
    complete = not problems
    problems += _name_problems(file, file.stem, operator)
    header, source = file.with_suffix(".h"), None
    slot = None
    try:
        slot = _read_header(file, operator, device)
    except ContractError as error:
        problems.append(error.problem)
    try:
        source = _find_source(file, device)
    except ContractError as error:
        problems.append(error.problem)
    contract, found = _read_contract(document, transport) if complete else (None, [])
    problems += found
    named = [("library", document.text("library"))]
    named += [("link_libraries", item) for item in document.texts("link_libraries") or ()]
    linked, found = _find_libraries(file, named, libraries)
    problems += found
    if complete and transport == "tvm_ffi" and linked and all(linked):
        problems += _check_headers(file, [item for item in linked if item is not None])
    if problems or slot is None or source is None or contract is None or None in linked:
        return None, problems
    library, *others = [item for item in linked if item is not None]
    return (
        Implementation(
            operator=operator,
            device=device,
            transport=transport,
            name=file.stem,
            slot=slot,
            file=file,
            header=header,
            source=source,
            library=library,
            link_libraries=tuple(others),
            contract=contract,
        ),
        [],
    )


def _read_header(file: Path, operator: str, device: str) -> Slot:
    header = file.with_suffix(".h")
    if not is_file(header):
        raise ContractError(
            Problem(
                "header-missing",
                f"the implementation `{file.stem}` of `{operator}` has no header",
                file.as_posix(),
                expected=f"a file `{header.name}` beside the contract",
                got="no such file",
                help="the header declares the slot; give it the contract's stem",
            )
        )
    return read_slot(header, operator, device)


def _find_source(file: Path, device: str) -> Path:
    allowed = (".cc",) if device in ("cpu", "sim") else _SOURCES
    found = [path for suffix in _SOURCES if is_file(path := file.with_suffix(suffix))]
    if len(found) == 1 and found[0].suffix in allowed:
        return found[0]
    raise ContractError(
        Problem(
            "source-missing",
            f"the implementation `{file.stem}` of `{file.parent.name}` must have one source",
            file.as_posix(),
            expected=" or ".join(f"`{file.stem}{suffix}`" for suffix in allowed)
            + " beside the contract",
            got=" and ".join(f"`{path.name}`" for path in found) or "no such file",
            help="keep one of them"
            if len(found) > 1
            else f"{device} has no CUDA sources"
            if found
            else "give the source the contract's stem",
        )
    )


def _read_contract(
    document: Document, transport: str
) -> tuple[SymbolContract | SchemaContract | None, list[Problem]]:
    file = document.path
    symbols = document.texts("required_symbols")
    schema, key = document.text("operator_schema"), document.text("dispatch_key")
    if symbols is not None and schema is None and key is None:
        return SymbolContract(symbols), [
            at(problem, file, symbol.line, "required_symbols")
            for symbol in symbols
            if (problem := check_symbol(symbol.value)) is not None
        ]
    if symbols is None and schema is not None and key is not None:
        problem = check_schema(schema.value) if transport == "torch" else _no_dispatcher(transport)
        placed = [] if problem is None else [at(problem, file, schema.line, "operator_schema")]
        return SchemaContract(schema, key), placed
    given = [
        name
        for name, value in [
            ("required_symbols", symbols),
            ("operator_schema", schema),
            ("dispatch_key", key),
        ]
        if value is not None
    ]
    mixed = symbols is not None
    if mixed:
        message, help = "the contract mixes both forms", "split it into two implementations"
    elif given:
        absent = "dispatch_key" if key is None else "operator_schema"
        message, help = "half of a Dispatcher contract is absent", f"add `{absent}`"
    else:
        message = "the contract asks for nothing"
        help = "add the symbols that the source calls, or a schema with its dispatch key"
    entry = document.entries[given[-1]] if given else None
    problem = Problem(
        "contract-form",
        message,
        file.as_posix(),
        1 if entry is None else entry.line,
        given[-1] if given else None,
        expected="either `required_symbols`, or `operator_schema` and `dispatch_key`",
        got=" and ".join(f"`{name}`" for name in given) or "neither",
        help=help,
    )
    return None, [problem]


def _no_dispatcher(transport: str) -> Problem:
    return Problem(
        "contract-form",
        f"the transport {transport} has no Dispatcher contracts",
        expected="`required_symbols`",
        got="`operator_schema` and `dispatch_key`",
        help="move the implementation to `torch/`, or name the symbols that it calls",
    )


def _find_libraries(
    file: Path, named: list[tuple[str, Text | None]], libraries: dict[str, Library | None]
) -> tuple[list[Library | None], list[Problem]]:
    """The libraries of the names; None for one whose file has a problem of its own."""
    found: list[Library | None] = []
    problems = []
    first = named[0][1]
    for key, text in named:
        if text is None:
            continue
        if key == "link_libraries" and first is not None and text.value == first.value:
            problem = Problem(
                "value-duplicate",
                f"`{text.value}` depends on itself",
                expected="libraries that the one under `library` depends on",
                got=f"`{text.value}`, which is the library itself",
                help="delete it",
            )
            problems.append(at(problem, file, text.line, key))
        elif text.value not in libraries:
            close = difflib.get_close_matches(text.value[:100], libraries, 1)
            problem = Problem(
                "library-undeclared",
                f"no library `{text.value}` is declared",
                expected=", ".join(f"`{name}`" for name in sorted(libraries))
                or f"a file `{text.value}.yaml` in `{file.parents[2].name}/`",
                got=f"`{text.value}`",
                help=f"did you mean `{close[0]}`?"
                if close
                else f"describe it in `{file.parents[2].name}/{text.value}.yaml`",
            )
            problems.append(at(problem, file, text.line, key))
        else:
            found.append(libraries[text.value])
    return found, problems


def _check_headers(file: Path, libraries: list[Library]) -> list[Problem]:
    if any(library.include_glob is not None for library in libraries):
        return []
    names = ", ".join(f"`{library.name}.yaml`" for library in libraries)
    return [
        Problem(
            "headers-missing",
            "no library of this implementation says where the TVM FFI headers are",
            file.as_posix(),
            1,
            expected="`include_glob` in the file of a library that it names",
            got=f"none in {names}",
            help="name the library of TVM FFI under `link_libraries`, and give it an "
            "`include_glob`",
        )
    ]


def _taken_slots(implementations: Iterable[Implementation]) -> list[Problem]:
    taken: dict[tuple[str, str, int], Implementation] = {}
    problems = []
    for item in implementations:
        first = taken.setdefault((item.operator, item.device, item.slot.number), item)
        if first is not item:
            problems.append(
                Problem(
                    "slot-taken",
                    f"slot {item.slot.number} of `{item.operator}` on {item.device} is taken",
                    item.header.as_posix(),
                    item.slot.line,
                    expected="a slot that no other implementation has",
                    got=f"the slot of {first.header.as_posix()}:{first.slot.line}",
                    help="choose another slot from 16 to 31",
                )
            )
    return problems


def _strays(root: Path, used: set[Path]) -> list[Problem]:
    """Contracts, headers with a slot and sources that lie where nothing reads them."""
    problems = []
    for path in sorted(root.rglob("*")):
        inside = PurePosixPath(path.relative_to(root))
        if path in used or not path.is_file():
            continue
        in_operator = len(inside.parts) == 5 and inside.parts[2] == "ops"
        what = None
        if path.suffix in (".yaml", ".yml"):
            what = "a contract lies where none is read"
        elif in_operator and path.suffix in _SOURCES:
            what = "a source has no contract"
        elif in_operator and path.suffix == ".h":
            try:
                if declares_slot(path):
                    what = "a header declares a slot and has no contract"
            except OSError:
                what = "a header cannot be read"
        if what is not None:
            problems.append(
                Problem(
                    "layout",
                    what,
                    path.as_posix(),
                    expected="`<transport>/<device>/<library>.yaml` or "
                    "`<transport>/<device>/ops/<operator>/<implementation>.{yaml,h,cc,cu}`, with "
                    f"a transport of {', '.join(TRANSPORTS)}",
                    got=f"`{inside}`",
                    help="move or rename it",
                )
            )
    return problems
