"""Shared library -> what its ELF tables say.

pyelftools finds the tables; symbols are unpacked here, since it needs 30 microseconds for each.
Sizes, counts and offsets come from the file and may be wrong on purpose: each is compared with the
size of the file before it is used, and nothing reads more than one table at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from .diagnostics import ContractError, Problem
from .files import open_file

_GREATEST_TABLE = 128 * 1024 * 1024
_GREATEST_COUNT = 1_000_000
_GREATEST_NAME = 64 * 1024
_BINDINGS = {0: "local", 1: "global", 2: "weak", 10: "unique"}
_VISIBILITIES = ("default", "internal", "hidden", "protected")
_FUNCTION_TYPES = {2, 10}
_DT_NEEDED, _DT_SONAME = 1, 14


@dataclass(frozen=True)
class ElfFacts:
    """What a build must know of a library."""

    machine: str
    bits: int
    soname: str | None
    needed: tuple[str, ...]
    build_id: str | None
    size: int


@dataclass(frozen=True)
class ElfSymbol:
    """One entry of a symbol table."""

    name: str
    binding: str
    visibility: str
    defined: bool
    is_function: bool
    version: str | None
    is_default_version: bool

    def reason(self) -> str | None:
        """Why it cannot be linked against; None if it can."""
        if not self.defined:
            return "undefined: the library itself needs it from elsewhere"
        if self.visibility not in ("default", "protected"):
            return f"{self.visibility}: its visibility keeps it inside the library"
        if self.binding not in ("global", "weak"):
            return f"{self.binding}: it is static or hidden and stays inside the library"
        if not self.is_default_version:
            return f"old version: only `{self.version}` for programs that were linked long ago"
        return None


def read_facts(path: Path) -> ElfFacts:
    """The facts of a shared library.

    Raises:
        ContractError: The file cannot be read, or is no ELF shared library.
    """
    try:
        with open_file(path) as stream:
            elf = ELFFile(stream)
            size = _size(stream)
            if elf["e_type"] != "ET_DYN":
                raise ValueError(f"an ELF file of type {elf['e_type']}")
            soname, needed = _dynamic(elf, size)
            machine = str(elf.get_machine_arch())
            return ElfFacts(machine, elf.elfclass, soname, needed, _build_id(elf, size), size)
    # pyelftools raises errors of many kinds on files that are made to break it.
    except Exception as error:
        raise _no_library(path, error) from error


def read_machine(path: Path) -> tuple[str, int]:
    """Machine and bits of any ELF file.

    Raises:
        ContractError: The file is no ELF file.
    """
    try:
        with open_file(path) as stream:
            elf = ELFFile(stream)
            return str(elf.get_machine_arch()), elf.elfclass
    except Exception as error:
        raise _no_library(path, error) from error


def read_symbols(path: Path, table: str = ".dynsym") -> list[ElfSymbol]:
    """The symbols of a table; none if the library has no such table.

    Raises:
        ContractError: The table cannot be read.
    """
    try:
        with open_file(path) as stream:
            elf = ELFFile(stream)
            size = _size(stream)
            section = elf.get_section_by_name(table)
            if section is None or section["sh_type"] not in ("SHT_DYNSYM", "SHT_SYMTAB"):
                return []
            strings = elf.get_section(section["sh_link"])
            symbols = _content(elf, section, size)
            versions, names = _versions(elf, size) if table == ".dynsym" else (b"", {})
            return list(_unpack(elf, symbols, _content(elf, strings, size), versions, names))
    except Exception as error:
        raise _no_library(path, error) from error


def _no_library(path: Path, error: Exception) -> ContractError:
    if isinstance(error, ContractError):
        return error
    text = str(error).strip() or type(error).__name__
    return ContractError(
        Problem(
            "library-file",
            f"`{path.name}` cannot be read as an ELF shared library",
            expected="an ELF shared library",
            got=text.splitlines()[0][:200],
            notes=(f"the file is {path}",),
            help="correct the pattern, or install the distribution anew",
        )
    )


def _size(stream: Any) -> int:
    end = int(stream.seek(0, 2))
    stream.seek(0)
    return end


def _content(elf: Any, section: Any, size: int) -> bytes:
    offset, length = int(section["sh_offset"]), int(section["sh_size"])
    if section["sh_type"] == "SHT_NOBITS" or offset + length > size or length > _GREATEST_TABLE:
        raise ValueError(f"the section {section.name[:60]!r} lies outside the file")
    elf.stream.seek(offset)
    return bytes(elf.stream.read(length))


def _text(strings: bytes, offset: int) -> str:
    if not 0 <= offset < len(strings):
        return ""
    end = strings.find(b"\0", offset, offset + _GREATEST_NAME)
    return strings[offset : end if end >= 0 else offset].decode("utf-8", "backslashreplace")


def _dynamic(elf: Any, size: int) -> tuple[str | None, tuple[str, ...]]:
    section = elf.get_section_by_name(".dynamic")
    if section is None or section["sh_type"] != "SHT_DYNAMIC":
        raise ValueError("an ELF file without a dynamic section")
    strings = _content(elf, elf.get_section(section["sh_link"]), size)
    entry = struct.Struct(_order(elf) + ("qQ" if elf.elfclass == 64 else "iI"))
    data = _content(elf, section, size)
    soname = None
    needed = []
    for tag, value in entry.iter_unpack(data[: len(data) // entry.size * entry.size]):
        if tag == 0:
            break
        if tag == _DT_NEEDED:
            needed.append(_text(strings, value))
        elif tag == _DT_SONAME:
            soname = _text(strings, value)
    return soname or None, tuple(needed)


def _build_id(elf: Any, size: int) -> str | None:
    section = elf.get_section_by_name(".note.gnu.build-id")
    if section is None:
        return None
    data = _content(elf, section, size)[:256]
    if len(data) < 16:
        return None
    name, length, kind = struct.unpack_from(_order(elf) + "III", data)
    start = 12 + (name + 3) // 4 * 4
    return data[start : start + length].hex() if kind == 3 and data[12:15] == b"GNU" else None


def _order(elf: Any) -> str:
    return "<" if elf.little_endian else ">"


def _versions(elf: Any, size: int) -> tuple[bytes, dict[int, str]]:
    """The version index of each dynamic symbol, and the names of the indices defined here."""
    section = elf.get_section_by_name(".gnu.version")
    if section is None:
        return b"", {}
    names: dict[int, str] = {}
    definitions = elf.get_section_by_name(".gnu.version_d")
    if definitions is not None:
        data = _content(elf, definitions, size)
        strings = _content(elf, elf.get_section(definitions["sh_link"]), size)
        order, offset = _order(elf), 0
        # Each step has to go forward, so that a chain which leads back ends.
        while 0 <= offset <= len(data) - 20:
            index, first, step = struct.unpack_from(order + "4xH6xII", data, offset)
            if offset + first + 8 <= len(data):
                (name,) = struct.unpack_from(order + "I", data, offset + first)
                names[index] = _text(strings, name)
            if step <= 0:
                break
            offset += step
    return _content(elf, section, size), names


def _unpack(
    elf: Any, symbols: bytes, strings: bytes, versions: bytes, names: dict[int, str]
) -> Iterator[ElfSymbol]:
    wide = elf.elfclass == 64
    entry = struct.Struct(_order(elf) + ("IBBHQQ" if wide else "IIIBBH"))
    index = struct.Struct(_order(elf) + "H")
    count = min(len(symbols) // entry.size, _GREATEST_COUNT)
    for position, values in enumerate(entry.iter_unpack(symbols[: count * entry.size])):
        if wide:
            name, info, other, section = values[:4]
        else:
            name, info, other, section = values[0], *values[3:]
        text = _text(strings, name)
        if not text:
            continue
        version = 1
        if 2 * position + 2 <= len(versions):
            (version,) = index.unpack_from(versions, 2 * position)
        yield ElfSymbol(
            name=text,
            binding=_BINDINGS.get(info >> 4, f"binding {info >> 4}"),
            visibility=_VISIBILITIES[other & 3],
            defined=section != 0,
            is_function=info & 15 in _FUNCTION_TYPES,
            version=names.get(version & 0x7FFF),
            is_default_version=version < 0x8000 or section == 0,
        )
