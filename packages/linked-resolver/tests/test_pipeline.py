import os
import subprocess
import sys

import pytest
from linked_workspace import LIBRARY, Workspace
from torch_providers import contract

from linked_resolver import ResolveError


def test_independent_problems_are_reported_together(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library(LIBRARY + "python_distribution_version: '>=2'\n", "newer")
    workspace.library(LIBRARY.replace("acme\n", "absent\n", 1), "absent")
    workspace.library(LIBRARY.replace("_C.so", "_D*.so"), "elsewhere")
    for number, name in enumerate(["newer", "absent", "elsewhere"]):
        workspace.implementation(
            f"library: {name}\nrequired_symbols: [f(int)]\n", name=name, slot=17 + number
        )
    workspace.implementation("library: acme\nrequired_symbols: [f(int)]\n", "gelu")
    workspace.implementation(contract("a::f(Tensor x) -> Tensor"), "relu")
    codes = [problem.code for problem in workspace.resolve(load=False).problems]
    assert sorted(codes) == [
        "distribution-missing",
        "distribution-version",
        "glob-no-match",
        "load-forbidden",
        "symbol-missing",
    ]
    assert [file.name for file in workspace.output.iterdir()] == ["diagnostics.json"]


def test_nothing_is_looked_up_while_contracts_are_faulty(workspace: Workspace) -> None:
    workspace.library(LIBRARY + "surplus: x\n")
    workspace.implementation()
    assert [problem.code for problem in workspace.prove().problems] == ["key-unknown"]


def test_a_folder_that_is_not_there(workspace: Workspace) -> None:
    workspace.contracts.rmdir()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[layout]: the folder of the contracts does not exist
  --> <contracts>
  expected: a folder <transport>/<device>/
  got: no folder
  help: pass the folder `src/linked`"""
    )


def test_a_header_without_contract_that_cannot_be_read(workspace: Workspace) -> None:
    workspace.complete()
    header = workspace.contracts / "torch/cpu/ops/silu_and_mul/other.h"
    header.symlink_to("/proc/self/mem")  # a file whose first byte nobody can read
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[layout]: a header cannot be read
  --> <contracts>/torch/cpu/ops/silu_and_mul/other.h
  expected: `<transport>/<device>/<library>.yaml` or \
`<transport>/<device>/ops/<operator>/<implementation>.{yaml,h,cc,cu}`, with a transport of torch, \
tvm_ffi
  got: `torch/cpu/ops/silu_and_mul/other.h`
  help: move or rename it"""
    )


def test_of_a_large_header_without_contract_the_beginning_counts(workspace: Workspace) -> None:
    workspace.complete()
    header = workspace.contracts / "torch/cpu/ops/silu_and_mul/other.h"
    header.write_bytes(b"\xff\n")
    os.truncate(header, 1 << 40)  # more than the memory of any machine
    assert workspace.text(workspace.prove().problems) == ""


def test_an_empty_folder_is_no_problem(workspace: Workspace) -> None:
    assert workspace.resolve().ok


def test_problems_can_be_raised(workspace: Workspace) -> None:
    workspace.complete("void f() {}")
    with pytest.raises(ResolveError, match=r"^error\[symbol-missing\]: `_C\.so` does not export"):
        workspace.prove().raise_for_problems()
    workspace.provider()
    workspace.prove().raise_for_problems()


def test_a_library_is_read_once_for_all_its_implementations(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linked_resolver import pipeline

    workspace.complete()
    workspace.implementation(name="again", slot=17)
    read: list[str] = []
    real = pipeline.read_library
    monkeypatch.setattr(
        pipeline, "read_library", lambda path, tools: (read.append(path.name), real(path, tools))[1]
    )
    assert workspace.prove().ok
    assert read == ["_C.so"]


def test_resolving_imports_neither_torch_nor_a_provider(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.site / "acme" / "__init__.py").write_text("raise SystemExit('imported')\n")
    code = (
        "import sys; from pathlib import Path; from linked_resolver import resolve\n"
        f"result = resolve(Path({str(workspace.contracts)!r}), Path({str(workspace.output)!r}))\n"
        "print(result.ok, *{'torch', 'acme'} & sys.modules.keys())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(workspace.site), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "True"
