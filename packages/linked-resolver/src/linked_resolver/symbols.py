"""Library and symbols -> proof that each is exported, or why it is not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from .contracts import Implementation, SymbolContract
from .diagnostics import ContractError, Problem, at
from .document import Text
from .elf import ElfSymbol, read_symbols
from .tools import (
    Table,
    Tools,
    demangle,
    line_about,
    read_with_nm,
    read_with_readelf,
    rows_of_nm,
    rows_of_readelf,
)

_SHOWN = 5
_GREATEST_SEARCH = 5_000
_COMPARED = 200
_STRING = re.compile(
    r"std::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>"
)


@dataclass(frozen=True)
class LibrarySymbols:
    """The dynamic symbols of one library as both tools show them."""

    path: Path
    tools: Tools
    nm: Table
    readelf: Table

    @cached_property
    def exported(self) -> frozenset[str]:
        """What both tools show as defined and exported."""
        return self.nm.exported & self.readelf.exported

    @cached_property
    def explained(self) -> list[tuple[str, ElfSymbol]]:
        """Demangled name and entry of every symbol, read without the tools. Raises
        ContractError."""
        symbols = read_symbols(self.path)
        names = {symbol.name for symbol in symbols}
        for symbol in read_symbols(self.path, ".symtab"):
            # What is exported is in the dynamic table too.
            if symbol.name not in names and symbol.defined:
                symbols.append(symbol)
        return list(
            zip(demangle(self.tools, [item.name for item in symbols]), symbols, strict=True)
        )


def read_library(path: Path, tools: Tools) -> LibrarySymbols:
    """Runs both tools on a library, side by side.

    Raises:
        ContractError: A tool failed.
    """
    with ThreadPoolExecutor(2) as pool:
        nm = pool.submit(read_with_nm, tools, path)
        readelf = pool.submit(read_with_readelf, tools, path)
        return LibrarySymbols(path, tools, nm.result(), readelf.result())


def prove_symbols(
    item: Implementation, library: LibrarySymbols, torch_library: LibrarySymbols | None
) -> list[Problem]:
    """What keeps the symbols of an implementation from being proved; empty if all are.

    `torch_library` is torch's own `libc10.so`, for naming the ABI that torch has.
    """
    assert isinstance(item.contract, SymbolContract)
    problems = []
    for symbol in item.contract.symbols:
        problem = _prove(symbol, library, torch_library)
        if problem is not None:
            problems.append(at(problem, item.file, symbol.line, "required_symbols"))
    return problems


def _prove(
    symbol: Text, library: LibrarySymbols, torch_library: LibrarySymbols | None
) -> Problem | None:
    name = symbol.value
    in_nm, in_readelf = name in library.nm.exported, name in library.readelf.exported
    if in_nm and in_readelf:
        return None
    try:
        explained = library.explained
    except ContractError as error:
        return error.problem
    entries = [entry for other, entry in explained if other == name]
    reasons = list(dict.fromkeys(reason for entry in entries if (reason := entry.reason())))
    # nm does not show visibility, so it cannot be blamed for counting a hidden symbol.
    is_hidden = bool(entries) and all(entry.visibility == "hidden" for entry in entries)
    if in_nm != in_readelf and not (in_nm and is_hidden):
        return Problem(
            "tool-disagreement",
            f"nm and readelf disagree about `{name}`",
            expected="both show it as defined and exported",
            got=_shown(library, name),
            notes=(f"the library is {library.path}",),
            help="use tools of one make: all of GNU binutils, or all of LLVM",
        )
    close = nearest(name, library.exported)
    drift = [other for other in library.exported if other != name and _plain(other) == _plain(name)]
    if drift and not reasons:
        return _drift(name, sorted(drift)[0], library, torch_library)
    notes = [f"it is in the library, but {reason}" for reason in reasons]
    if close:
        notes.append("exported are\n" + "\n".join(close))
    respaced = [other for other in library.exported if _joined(other) == _joined(name)]
    if respaced:
        help = f"copy the text as {library.tools.nm.name} writes it: `{sorted(respaced)[0]}`"
    elif reasons:
        help = "choose a symbol that is exported, or another release of the distribution"
    elif close:
        help = "if the signature has changed, change the contract and the source together"
    else:
        help = f"list what there is: `linked-resolver inspect {library.path}`"
    return Problem(
        "symbol-missing",
        f"`{library.path.name}` does not export `{name}`",
        expected="a defined, exported symbol of the dynamic table",
        got="a symbol that does not count" if reasons else "no such symbol",
        notes=(*notes, f"the library is {library.path}"),
        help=help,
    )


def _shown(library: LibrarySymbols, name: str) -> str:
    """What each tool prints about a name; they are asked again."""
    tools = library.tools
    by_nm = line_about(rows_of_nm(tools, library.path), name)
    by_readelf = line_about(rows_of_readelf(tools, library.path), name)
    return f"{tools.nm.name}: {by_nm}\n{tools.readelf.name}: {by_readelf}"


def nearest(name: str, exported: Iterable[str]) -> list[str]:
    """Exported names that may have been meant: overloads first, then similar names."""
    base = base_name(name)
    candidates = sorted(exported)
    overloads = [other for other in candidates if base_name(other) == base]
    last = base.rpartition("::")[2]
    namesakes = [other for other in candidates if base_name(other).rpartition("::")[2] == last]
    found = list(dict.fromkeys(overloads + namesakes))[:_COMPARED]
    if not found:
        similar = {base_name(other): other for other in candidates[:_GREATEST_SEARCH]}
        found = [
            similar[close] for close in difflib.get_close_matches(base[:200], similar, 3, 0.75)
        ]
    # Similar parameters first; ties stay in order.
    found.sort(key=lambda other: -difflib.SequenceMatcher(None, name[:500], other[:500]).ratio())
    return found[:_SHOWN]


@lru_cache(maxsize=1 << 17)
def base_name(symbol: str) -> str:
    """The qualified name without return type, template arguments and parameters."""
    kept: list[str] = []
    depth = 0
    for sign in symbol:
        if sign == "(" and depth == 0 and kept and "".join(kept[-8:]) != "operator":
            break
        if sign == "<":
            depth += 1
        elif sign == ">":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(sign)
    return "".join(kept).strip().rpartition(" ")[2]


def _joined(name: str) -> str:
    return name.replace(" ", "")


def _plain(name: str) -> str:
    """The name without what `_GLIBCXX_USE_CXX11_ABI` changes."""
    text = _STRING.sub("std::string", name)
    return text.replace("[abi:cxx11]", "").replace("std::__cxx11::", "std::")


def string_abi(names: Iterable[str]) -> int | None:
    """The `_GLIBCXX_USE_CXX11_ABI` that demangled names were compiled with; None if none tells."""
    old = False
    for name in names:
        if "std::__cxx11::" in name or "[abi:cxx11]" in name:
            return 1
        old = old or "std::string" in name or _STRING.search(name) is not None
    return 0 if old else None


def _drift(
    name: str, present: str, library: LibrarySymbols, torch_library: LibrarySymbols | None
) -> Problem:
    def stated(names: Iterable[str]) -> str:
        abi = string_abi(names)
        return "cannot be told" if abi is None else str(abi)

    torch = frozenset() if torch_library is None else torch_library.exported
    return Problem(
        "symbol-abi",
        f"`{library.path.name}` was compiled with the other ABI of std::string",
        expected=f"`{name}`",
        got=f"`{present}`",
        notes=(
            f"_GLIBCXX_USE_CXX11_ABI of the library: {stated([present])}; of torch: "
            f"{stated(torch)}; of the contract: {stated([name])}",
            f"the library is {library.path}",
        ),
        help="install a build of the library with torch's ABI",
    )
