"""Proofs with one make of the tools, with the other, and with tools that misbehave."""

import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from linked_workspace import SOURCE, Workspace

from linked_resolver import find_tools, process
from linked_resolver.tools import NAMES, Tools, demangle

LLVM = {"nm": "llvm-nm", "readelf": "llvm-readelf", "c++filt": "llvm-cxxfilt"}
needs_llvm = pytest.mark.skipif(
    any(shutil.which(name) is None for name in LLVM.values()),
    reason="LLVM's nm, readelf and cxxfilt are not on PATH (apt-get install llvm)",
)


def gnu(tool: str) -> str:
    path = shutil.which(tool)
    assert path is not None
    return path


def folder_of_tools(folder: Path, **scripts: str) -> Path:
    """A folder for PATH: the machine's tools, of which some are replaced by shell scripts."""
    folder.mkdir()
    for tool in NAMES:
        key = tool.replace("+", "x")
        if key in scripts:
            (folder / tool).write_text(f"#!/bin/sh\n{scripts[key]}\n")
            (folder / tool).chmod(0o755)
        else:
            (folder / tool).symlink_to(gnu(tool))
    return folder


def with_script(workspace: Workspace, seconds: float = 60, **scripts: str) -> str:
    workspace.complete()
    tools, problems = find_tools(str(folder_of_tools(workspace.root / "bin", **scripts)), seconds)
    assert problems == []
    return workspace.text(workspace.prove(tools=tools).problems)


def test_gnu_names_come_first() -> None:
    tools, problems = find_tools()
    assert problems == []
    assert tools is not None
    assert [tools.nm.name, tools.readelf.name, tools.cxxfilt.name] == ["nm", "readelf", "c++filt"]


@needs_llvm
def test_llvm_alone_is_enough(workspace: Workspace) -> None:
    workspace.complete()
    folder = workspace.root / "bin"
    folder.mkdir()
    for name in LLVM.values():
        (folder / name).symlink_to(gnu(name))
    tools, problems = find_tools(str(folder))
    assert problems == []
    assert workspace.text(workspace.prove(tools=tools).problems) == ""


def test_no_tools_at_all(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.complete()
    monkeypatch.setenv("PATH", str(workspace.root))
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[tool-missing]: nm is needed to prove symbols and is not there
  expected: `nm` or `llvm-nm` on PATH
  got: neither in <root>
  help: install GNU binutils or LLVM (`apt-get install binutils`)

error[tool-missing]: readelf is needed to prove symbols and is not there
  expected: `readelf` or `llvm-readelf` on PATH
  got: neither in <root>
  help: install GNU binutils or LLVM (`apt-get install binutils`)

error[tool-missing]: c++filt is needed to prove symbols and is not there
  expected: `c++filt` or `llvm-cxxfilt` on PATH
  got: neither in <root>
  help: install GNU binutils or LLVM (`apt-get install binutils`)"""
    )


def test_tools_are_not_needed_where_nothing_is_selected(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.complete()
    monkeypatch.setenv("PATH", "")
    assert workspace.prove(devices=["sim"]).ok


def test_one_tool_is_absent(workspace: Workspace) -> None:
    folder = folder_of_tools(workspace.root / "bin")
    (folder / "c++filt").unlink()
    tools, problems = find_tools(str(folder))
    assert tools is None
    assert (
        workspace.text(problems)
        == """\
error[tool-missing]: c++filt is needed to prove symbols and is not there
  expected: `c++filt` or `llvm-cxxfilt` on PATH
  got: neither in <root>/bin
  help: install GNU binutils or LLVM (`apt-get install binutils`)"""
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names the format of x86-64")
def test_nm_is_told_the_format_so_that_it_loads_no_plug_in(workspace: Workspace) -> None:
    said = workspace.root / "said"
    script = f'echo "$*" >> {said}; exec {gnu("nm")} "$@"'
    assert with_script(workspace, nm=script) == ""
    library = workspace.site / "acme" / "_C.so"
    assert said.read_text() == f"--target=elf64-x86-64 -D -C {library}\n"


def test_an_nm_that_refuses_the_format_is_asked_without_it(workspace: Workspace) -> None:
    script = f'case "$1" in --target=*) echo no >&2; exit 1;; esac; exec {gnu("nm")} "$@"'
    assert with_script(workspace, nm=script) == ""


def test_an_old_readelf_that_refuses_to_demangle_is_enough(workspace: Workspace) -> None:
    script = (
        f'for a; do case "$a" in -C|--demangle) exit 1;; esac; done; exec {gnu("readelf")} "$@"'
    )
    assert with_script(workspace, readelf=script) == ""


def test_versions_after_names_do_not_matter(workspace: Workspace) -> None:
    readelf = f'{gnu("readelf")} "$@" | sed -E "s/(_Z12silu_and_muli)$/\\1@@ACME_1 (2)/"'
    nm = f'{gnu("nm")} "$@" | sed -E "s/(silu_and_mul\\(int\\))$/\\1@@ACME_1/"'
    assert with_script(workspace, readelf=readelf, nm=nm) == ""


def test_other_fields_of_readelf_do_not_matter(workspace: Workspace) -> None:
    script = (
        f'{gnu("readelf")} "$@" | '
        'sed -E "s/(DEFAULT +)([0-9]+ _Z12.*)/\\1[VARIANT_PCS] \\2 [<other>: 80]/"'
    )
    assert with_script(workspace, readelf=script) == ""


def test_nm_alone_shows_a_symbol(workspace: Workspace) -> None:
    script = f'{gnu("readelf")} "$@" | grep -v silu_and_mul'
    assert (
        with_script(workspace, readelf=script)
        == """\
error[tool-disagreement]: nm and readelf disagree about `silu_and_mul(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: both show it as defined and exported
  got: nm: 00000000000010f9 T silu_and_mul(int)
    readelf: nothing
  note: the library is <site>/acme/_C.so
  help: use tools of one make: all of GNU binutils, or all of LLVM"""
    )


def test_readelf_alone_shows_a_symbol(workspace: Workspace) -> None:
    script = f'{gnu("nm")} "$@" | sed -E "s/ T (silu)/ t \\1/"'
    assert (
        with_script(workspace, nm=script)
        == """\
error[tool-disagreement]: nm and readelf disagree about `silu_and_mul(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: both show it as defined and exported
  got: nm: 00000000000010f9 t silu_and_mul(int)
    readelf: 5: 00000000000010f9    10 FUNC    GLOBAL DEFAULT    9 _Z12silu_and_muli
  note: the library is <site>/acme/_C.so
  help: use tools of one make: all of GNU binutils, or all of LLVM"""
    )


def test_a_demangler_of_another_mind(workspace: Workspace) -> None:
    script = f'{gnu("c++filt")} | sed "s/(int)/( int )/"'
    assert (
        with_script(workspace, cxxfilt=script)
        == """\
error[tool-disagreement]: nm and readelf disagree about `silu_and_mul(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: both show it as defined and exported
  got: nm: 00000000000010f9 T silu_and_mul(int)
    readelf: nothing
  note: the library is <site>/acme/_C.so
  help: use tools of one make: all of GNU binutils, or all of LLVM"""
    )


def test_a_tool_that_fails(workspace: Workspace) -> None:
    assert (
        with_script(workspace, nm="echo 'it is broken' >&2; exit 4")
        == """\
error[tool-failed]: nm did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: an answer within 60 s
  got: nm exited with status 4 on <site>/acme/_C.so
    it is broken
  note: the program is <root>/bin/nm
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_tool_that_hangs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own limit is short and that of the other tools long, however busy the machine is."""
    run = process.run

    def run_within(command: Sequence[str | Path], **options: Any) -> process.Finished:
        options["seconds"] = 0.5 if Path(command[0]).name == "readelf" else 600
        return run(command, **options)

    monkeypatch.setattr(process, "run", run_within)
    assert (
        with_script(workspace, 5, readelf="sleep 600")
        == """\
error[tool-failed]: readelf did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: an answer within 5 s
  got: readelf did not finish in time on <site>/acme/_C.so
  note: the program is <root>/bin/readelf
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_tool_that_dies(workspace: Workspace) -> None:
    assert (
        with_script(workspace, nm="kill -SEGV $$")
        == """\
error[tool-failed]: nm did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: an answer within 60 s
  got: nm was ended by SIGSEGV on <site>/acme/_C.so
  note: the program is <root>/bin/nm
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_tool_that_prints_something_else(workspace: Workspace) -> None:
    assert (
        with_script(workspace, nm="echo hello")
        == """\
error[tool-failed]: nm did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: lines of a symbol table
  got: `hello`, about <site>/acme/_C.so
  note: the program is <root>/bin/nm
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_readelf_that_prints_something_else(workspace: Workspace) -> None:
    assert (
        with_script(workspace, readelf="echo hello")
        == """\
error[tool-failed]: readelf did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: lines of a symbol table
  got: `hello`, about <site>/acme/_C.so
  note: the program is <root>/bin/readelf
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_table_of_another_form(workspace: Workspace) -> None:
    assert (
        with_script(workspace, readelf="echo Symbol table; echo '  1: f g h i j k l m'")
        == """\
error[tool-failed]: readelf did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: lines of a symbol table
  got: `1: f g h i j k l m`, about <site>/acme/_C.so
  note: the program is <root>/bin/readelf
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_demangler_that_swallows_lines(workspace: Workspace) -> None:
    assert (
        with_script(workspace, cxxfilt="cat > /dev/null; echo one")
        == """\
error[tool-failed]: c++filt did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: 5 lines, one for each name
  got: 1 lines
  note: the program is <root>/bin/c++filt
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_a_tool_that_cannot_be_started(workspace: Workspace) -> None:
    workspace.complete()
    tools, _ = find_tools()
    assert tools is not None
    gone = Tools(workspace.root / "nm", tools.readelf, tools.cxxfilt)
    assert (
        workspace.text(workspace.prove(tools=gone).problems)
        == """\
error[tool-failed]: nm did not do its work
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1, key `required_symbols`
  expected: a program
  got: it cannot be started: No such file or directory
  note: the program is <root>/nm
  help: put GNU binutils or LLVM first on PATH; if the library is damaged, install it anew"""
    )


def test_both_tools_that_fail_are_one_problem_each_library(workspace: Workspace) -> None:
    text = with_script(workspace, nm="exit 1", readelf="exit 1")
    assert text.count("error[") == 1


def test_a_name_of_many_blanks_is_read_in_no_time(workspace: Workspace) -> None:
    line = "   99: 0000000000001000 1 FUNC GLOBAL DEFAULT 9 x%200000s[y"
    script = f'{gnu("readelf")} "$@"; printf "{line}\\n" ""'
    assert with_script(workspace, readelf=script) == ""


def test_demangling_nothing_runs_nothing() -> None:
    assert demangle(Tools(Path("/no/nm"), Path("/no/readelf"), Path("/no/c++filt")), []) == []


def test_a_library_without_symbols_exports_nothing(workspace: Workspace) -> None:
    workspace.complete("static int unused;")
    assert "error[symbol-missing]" in workspace.text(workspace.prove().problems)


def test_the_dynamic_table_counts_even_if_the_library_is_stripped(workspace: Workspace) -> None:
    workspace.complete(SOURCE, "-s")
    assert workspace.prove().ok
