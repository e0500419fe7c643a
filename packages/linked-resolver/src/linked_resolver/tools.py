"""nm, readelf and c++filt, of GNU binutils or of LLVM: finding them, running them, reading them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from . import process
from .diagnostics import ContractError, Problem
from .elf import read_machine

SECONDS = 60.0
NAMES = {
    "nm": ("nm", "llvm-nm"),
    "readelf": ("readelf", "llvm-readelf"),
    "c++filt": ("c++filt", "llvm-cxxfilt"),
}
"""The tools, each with the names that it may have, in order of preference."""

_NM = re.compile(r"\s*(?:[0-9a-fA-F]+\s+)?(?P<kind>[A-Za-z?-])\s(?P<name>.+)")
_READELF = re.compile(
    r"\s*\d+:\s+[0-9a-fA-F]+\s+(?:0x)?[0-9a-fA-F]+\s+\S+\s+(?P<binding>\S+)\s+(?P<visibility>\S+)"
    r"\s+(?:\[[^\]]*\]\s+)?(?P<section>[0-9A-Z]+)\s+(?P<name>\S.*)"
)
_NUMBER = re.compile(r"\s\(\d+\)$")
_VERSION = re.compile(r"(?P<sign>@@?)[\w.+-]+$")
# Global (T, D, B, R, A, G, S, C), weak (W, V) and indirect (i) definitions. Unique ones (u) are no
# functions; small letters are local, w and v undefined.
_NM_DEFINED = frozenset("TDBRAGSCWVi")
# GNU's names of formats; of another machine's library nm finds it out.
_FORMATS = {("x64", 64): "elf64-x86-64", ("AArch64", 64): "elf64-littleaarch64"}


@dataclass(frozen=True)
class Tools:
    """Where the three programs are."""

    nm: Path
    readelf: Path
    cxxfilt: Path
    seconds: float = SECONDS


@dataclass(frozen=True)
class Table:
    """What one tool says, by demangled names.

    Names alone: with the lines that say it, the tables of a large library would take twice the
    memory, and a line is of use only where the tools disagree.
    """

    exported: frozenset[str]
    rejected: frozenset[str]
    """Names that are in the table and do not count."""


class Row(NamedTuple):
    """One line of a symbol table: the demangled name, and whether it counts as exported."""

    name: str
    counts: bool
    line: str


def find_tools(
    search: str | None = None, seconds: float = SECONDS
) -> tuple[Tools | None, list[Problem]]:
    """The tools on a search path (that of the process by default)."""
    search = os.environ.get("PATH", os.defpath) if search is None else search
    found = {}
    problems = []
    for tool, names in NAMES.items():
        paths = [path for name in names if (path := shutil.which(name, path=search))]
        if paths:
            found[tool] = Path(paths[0])
        else:
            problems.append(
                Problem(
                    "tool-missing",
                    f"{tool} is needed to prove symbols and is not there",
                    expected=" or ".join(f"`{name}`" for name in names) + " on PATH",
                    got=f"neither in {search}" if search else "an empty PATH",
                    help="install GNU binutils or LLVM (`apt-get install binutils`)",
                )
            )
    if problems:
        return None, problems
    return Tools(found["nm"], found["readelf"], found["c++filt"], seconds), []


def read_with_nm(tools: Tools, library: Path) -> Table:
    """The dynamic symbols as nm shows them, demangled by itself.

    Raises:
        ContractError: nm failed or printed what cannot be read.
    """
    return _table(rows_of_nm(tools, library))


def rows_of_nm(tools: Tools, library: Path) -> Iterator[Row]:
    """The lines of `read_with_nm`, which tells the errors."""
    for line in _lines(
        _run(tools, [tools.nm, "-D", "-C", library], gnu_options=format_options(library))
    ):
        if not line.strip():
            continue
        match = _NM.fullmatch(line)
        if match is None:
            raise _unreadable(tools.nm, library, line)
        name, counts = _split_version(match["name"])
        yield Row(name, counts and match["kind"] in _NM_DEFINED, line.strip())


def read_with_readelf(tools: Tools, library: Path) -> Table:
    """The dynamic symbols as readelf shows them, demangled by c++filt.

    Raises:
        ContractError: readelf or c++filt failed or printed what cannot be read.
    """
    raw = [(row.name, row.counts) for row in _raw_rows(tools, library)]
    names = demangle(tools, [name for name, _ in raw])
    return _table(Row(name, counts, "") for name, (_, counts) in zip(names, raw, strict=True))


def rows_of_readelf(tools: Tools, library: Path) -> Iterator[Row]:
    """The lines of `read_with_readelf`, which tells the errors."""
    rows = list(_raw_rows(tools, library))
    names = demangle(tools, [row.name for row in rows])
    for name, row in zip(names, rows, strict=True):
        yield Row(name, row.counts, row.line)


def _raw_rows(tools: Tools, library: Path) -> Iterator[Row]:
    """What readelf prints, with names that are still mangled."""
    output = _run(tools, [tools.readelf, "--dyn-syms", "-W", library])
    if b"Symbol table" not in output and output.strip():
        first = next(line for line in _lines(output) if line.strip())
        raise _unreadable(tools.readelf, library, first)
    for line in _lines(output):
        match = _READELF.fullmatch(line.rstrip())
        if match is None:
            if re.match(r"\s*\d+:", line) and len(line.split()) > 7:
                raise _unreadable(tools.readelf, library, line)
            continue
        raw, counts = _split_version(_NUMBER.sub("", _without_flags(match["name"])))
        counts = (
            counts
            and match["section"] != "UND"
            and match["binding"] in ("GLOBAL", "WEAK")
            and match["visibility"] in ("DEFAULT", "PROTECTED")
        )
        yield Row(raw, counts, line.strip())


def _table(rows: Iterable[Row]) -> Table:
    exported: set[str] = set()
    rejected: set[str] = set()
    for row in rows:
        (exported if row.counts else rejected).add(row.name)
    return Table(frozenset(exported), frozenset(rejected))


def line_about(rows: Iterable[Row], name: str) -> str:
    """The last line about a name, one that counts if there is one; "nothing" without any."""
    found = {row.counts: row.line for row in rows if row.name == name}
    return found.get(True) or found.get(False) or "nothing"


def demangle(tools: Tools, names: Sequence[str]) -> list[str]:
    """Each name as c++filt writes it; a name that is not mangled stays as it is.

    Raises:
        ContractError: c++filt failed.
    """
    if not names:
        return []
    text = "".join(f"{name}\n" for name in names)
    # GNU's c++filt writes `std::string` out unless it is told to write as its nm does.
    lines = list(_lines(_run(tools, [tools.cxxfilt], text, gnu_options=["-i"])))
    if len(lines) != len(names):
        raise ContractError(
            _failure(
                tools.cxxfilt,
                f"{len(names)} lines, one for each name",
                f"{len(lines)} lines",
            )
        )
    return lines


def _without_flags(name: str) -> str:
    """The name without the flags that some architectures have after it: `f [VARIANT_PCS]`."""
    return name[: name.rfind("[")].rstrip() if name.endswith("]") and " [" in name else name


def _split_version(name: str) -> tuple[str, bool]:
    """The name without its version, and whether this version is the one that links."""
    match = _VERSION.search(name)
    if match is None:
        return name, True
    return name[: match.start()], match["sign"] == "@@"


def _lines(output: bytes) -> Iterator[str]:
    """The lines of an output, one at a time: whole, a large one would be in memory three times."""
    for line in BytesIO(output):
        text = line.removesuffix(b"\n").decode("utf-8", "backslashreplace")
        yield text.replace("\r", "\\r")


def format_options(library: Path) -> list[str]:
    """What tells GNU's nm the format of a library; nothing for a machine without a name here.

    Without it nm asks every plug-in of the linker first, and LLVM's takes 100 MB to say no.
    """
    try:
        name = _FORMATS.get(read_machine(library))
    except ContractError:
        return []  # nm says what is wrong with the file
    return [] if name is None else [f"--target={name}"]


def _run(
    tools: Tools,
    command: list[str | Path],
    stdin: str = "",
    *,
    gnu_options: Sequence[str] = (),
) -> bytes:
    """What a tool prints. It is asked without `gnu_options` if it refuses them, as LLVM's do."""
    program = Path(command[0])
    finished = _finish(tools, [program, *gnu_options, *command[1:]], stdin)
    if gnu_options and finished.status != 0 and not finished.timed_out:
        finished = _finish(tools, command, stdin)
    if finished.timed_out or finished.status != 0:
        said = process.excerpt(finished.stderr, 4)
        library = f" on {command[-1]}" if program != tools.cxxfilt else ""
        raise ContractError(
            _failure(
                program,
                f"an answer within {tools.seconds:g} s",
                f"{program.name} {finished.how()}{library}" + (f"\n{said}" if said else ""),
            )
        )
    return finished.stdout


def _finish(tools: Tools, command: list[str | Path], stdin: str) -> process.Finished:
    try:
        return process.run(
            command,
            seconds=tools.seconds,
            stdin=stdin.encode("utf-8", "surrogateescape"),
            # Messages and headings in English, so that they can be read.
            environment={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        text = f"it cannot be started: {error.strerror}"
        raise ContractError(_failure(Path(command[0]), "a program", text)) from error


def _unreadable(program: Path, library: Path, line: str) -> ContractError:
    return ContractError(
        _failure(
            program,
            "lines of a symbol table",
            f"`{line.strip()[:200]}`, about {library}",
        )
    )


def _failure(program: Path, expected: str, got: str) -> Problem:
    return Problem(
        "tool-failed",
        f"{program.name} did not do its work",
        expected=expected,
        got=got,
        notes=(f"the program is {program}",),
        help="put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew",
    )
