import os
import struct
import subprocess
from pathlib import Path

import pytest
from linked_workspace import SOURCE, Workspace, compile_library

from linked_resolver import ContractError
from linked_resolver.elf import read_facts, read_machine, read_symbols


def test_facts_of_a_library(tmp_path: Path) -> None:
    path = compile_library(
        tmp_path / "liba.so",
        SOURCE,
        "-Wl,-soname,liba.so.1",
        "-Wl,--build-id=0xabcdef",
        "-Wl,--no-as-needed",
    )
    facts = read_facts(path)
    assert facts.soname == "liba.so.1"
    assert "libc.so.6" in facts.needed
    assert facts.build_id == "abcdef"
    assert facts.size == path.stat().st_size
    assert (facts.machine, facts.bits) == read_machine(Path(os.path.realpath("/proc/self/exe")))


def test_a_library_without_names_has_none(tmp_path: Path) -> None:
    facts = read_facts(compile_library(tmp_path / "a.so", SOURCE, "-Wl,--build-id=none"))
    assert facts.soname is None
    assert facts.build_id is None


def test_reasons_for_not_counting(tmp_path: Path) -> None:
    script = tmp_path / "map"
    script.write_text("V1 { global: old; }; V2 { global: fresh; } V1;\n")
    source = (
        'extern "C" { extern void needed(); void fresh() { needed(); } void real() {}\n'
        '__attribute__((visibility("hidden"))) void hidden() {}\n'
        '__attribute__((visibility("protected"))) void guarded() {}\n'
        "__attribute__((weak)) void weak() {}\n"
        "static void __attribute__((used)) mine() {} }\n"
        '__asm__(".symver real, old@V1");'
    )
    path = compile_library(tmp_path / "a.so", source, f"-Wl,--version-script={script}")
    dynamic = {item.name: item for item in read_symbols(path)}
    everything = {item.name: item for item in read_symbols(path, ".symtab")}
    assert dynamic["fresh"].reason() is None
    assert dynamic["fresh"].version == "V2"
    assert dynamic["weak"].reason() is None
    assert dynamic["guarded"].reason() is None
    assert dynamic["old"].reason() == (
        "old version: only `V1` for programs that were linked long ago"
    )
    assert dynamic["needed"].reason() == ("undefined: the library itself needs it from elsewhere")
    assert "hidden" not in dynamic
    assert everything["hidden"].reason() == everything["mine"].reason()
    assert everything["mine"].reason() == (
        "local: it is static or hidden and stays inside the library"
    )


def test_a_library_for_32_bits_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.so"
    names = b"\0f\0liba.so\0"
    symbols = bytes(16) + struct.pack("<IIIBBH", 1, 0, 0, 0x12, 0, 1)
    dynamic = struct.pack("<iIiI", 14, 3, 0, 0)
    text = b"\0.dynsym\0.dynstr\0.dynamic\0.shstrtab\0"
    parts = [names, symbols, dynamic, text]
    offsets = [52 + sum(len(part) for part in parts[:number]) for number in range(5)]
    sections = bytes(40)
    for number, (name, kind, link) in enumerate(
        [(".dynstr", 3, 0), (".dynsym", 11, 1), (".dynamic", 6, 1), (".shstrtab", 3, 0)]
    ):
        place = offsets[number], len(parts[number])
        sections += struct.pack(
            "<10I", text.index(name.encode()), kind, 0, 0, *place, link, 0, 1, 16
        )
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 3, 3, 1, 0, 0, offsets[4], 0, 52, 0, 0, 40, 5, 4)
    path.write_bytes(header + b"".join(parts) + sections)
    facts = read_facts(path)
    assert (facts.machine, facts.bits, facts.soname) == ("x86", 32, "liba.so")
    (symbol,) = read_symbols(path)
    assert symbol.name == "f"
    assert symbol.reason() is None


def problem_of(path: Path) -> str:
    with pytest.raises(ContractError) as caught:
        read_facts(path)
    return caught.value.problem.render().replace(str(path.parent), "<root>")


def test_a_text_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_text("GROUP ( libc.so.6 )\n")
    assert (
        problem_of(tmp_path / "a.so")
        == """\
error[library-file]: `a.so` cannot be read as an ELF shared library
  expected: an ELF shared library
  got: Magic number does not match
  note: the file is <root>/a.so
  help: correct the pattern, or install the distribution anew"""
    )


def test_an_object_file_is_no_library(tmp_path: Path) -> None:
    command = ["g++", "-c", "-xc++", "-", "-o", str(tmp_path / "a.o")]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    assert (
        problem_of(tmp_path / "a.o")
        == """\
error[library-file]: `a.o` cannot be read as an ELF shared library
  expected: an ELF shared library
  got: an ELF file of type ET_REL
  note: the file is <root>/a.o
  help: correct the pattern, or install the distribution anew"""
    )


def test_a_library_that_is_cut_off(tmp_path: Path) -> None:
    path = compile_library(tmp_path / "a.so", SOURCE)
    path.write_bytes(path.read_bytes()[:3000])
    assert "error[library-file]" in problem_of(path)


def test_a_library_for_another_machine(workspace: Workspace) -> None:
    path = workspace.complete()
    data = bytearray(path.read_bytes())
    data[18:20] = struct.pack("<H", 183)
    path.write_bytes(data)
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[library-file]: `_C.so` is made for another machine
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: x64, 64 bits, as <python>
  got: AArch64, 64 bits
  note: the file is <site>/acme/_C.so
  help: install the wheel of this machine"""
    )


def test_a_file_that_is_no_library_in_a_distribution(workspace: Workspace) -> None:
    workspace.complete().write_bytes(b"\x7fELF")
    (problem,) = workspace.prove().problems
    assert problem.code == "library-file"
    assert problem.line == 2


def test_version_chains_that_lead_back_end(tmp_path: Path) -> None:
    script = tmp_path / "map"
    script.write_text("V1 { global: *; };\n")
    path = compile_library(tmp_path / "a.so", SOURCE, f"-Wl,--version-script={script}")
    data = path.read_bytes()
    sections = subprocess.run(
        ["readelf", "-SW", str(path)], capture_output=True, text=True, check=True
    ).stdout
    (line,) = [line for line in sections.splitlines() if ".gnu.version_d " in line]
    offset = int(line.split()[line.split().index("VERDEF") + 2], 16)
    for step in (0, 2**32 - 28, 1):
        changed = bytearray(data)
        changed[offset + 16 : offset + 20] = struct.pack("<I", step)
        path.write_bytes(changed)
        assert [item.name for item in read_symbols(path) if item.defined][:1] != []
