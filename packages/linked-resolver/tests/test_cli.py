import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from linked_workspace import Workspace

from linked_resolver import __version__
from linked_resolver.cli import main


def run(workspace: Workspace, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process whose distributions are those of the workspace, too."""
    return subprocess.run(
        [sys.executable, "-m", "linked_resolver", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(workspace.site)},
        capture_output=True,
        text=True,
    )


def resolve(workspace: Workspace, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(workspace, "resolve", "--contracts", workspace.contracts, *arguments)


def test_success_names_what_was_proved(workspace: Workspace) -> None:
    workspace.complete()
    result = resolve(workspace, "--output", workspace.output, "--device", "cpu")
    assert result.stderr == ""
    assert result.stdout == (
        "torch/cpu/silu_and_mul/acme: slot 16, acme 1.0\n1 linked implementation proved\n"
    )
    assert result.returncode == 0
    assert (workspace.output / "manifest.cmake").is_file()


def test_failure_prints_every_problem_and_their_number(workspace: Workspace) -> None:
    workspace.complete("void f() {}")
    result = resolve(workspace, "--output", workspace.output)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error[symbol-missing]: `_C.so` does not export `silu_and_mul")
    assert result.stderr.endswith("\n\n1 problem\n")


def test_without_an_output_folder_nothing_is_written(workspace: Workspace) -> None:
    workspace.complete()
    before = sorted(workspace.root.rglob("*"))
    assert resolve(workspace).returncode == 0
    assert sorted(workspace.root.rglob("*")) == before


def test_json_is_the_document_of_the_diagnostics(workspace: Workspace) -> None:
    workspace.complete("void f() {}")
    result = resolve(workspace, "--output", workspace.output, "--json")
    assert result.returncode == 1
    assert result.stderr == ""
    assert result.stdout == (workspace.output / "diagnostics.json").read_text(encoding="utf-8")
    assert json.loads(result.stdout)["problems"][0]["code"] == "symbol-missing"


def test_a_faulty_selection_is_told_as_text_and_as_json(workspace: Workspace) -> None:
    workspace.complete()
    ops = workspace.root / "ops.json"
    ops.write_text("{,}")
    text = resolve(workspace, "--ops", ops)
    assert (text.returncode, text.stdout) == (1, "")
    assert text.stderr.startswith("error[selection]: the file is not JSON\n")
    document = resolve(workspace, "--ops", ops, "--json")
    assert json.loads(document.stdout)["problems"][0]["code"] == "selection"


def test_header_paths_begin_two_folders_above_the_contracts(workspace: Workspace) -> None:
    workspace.complete()
    ops = workspace.root / "ops.json"
    ops.write_text('{"silu_and_mul": "src/linked/torch/cpu/ops/silu_and_mul/acme.h"}')
    assert "1 linked implementation proved" in resolve(workspace, "--ops", ops).stdout
    elsewhere = resolve(workspace, "--ops", ops, "--project", workspace.site)
    assert "0 linked implementations proved" in elsewhere.stdout


def test_notes_are_printed(workspace: Workspace) -> None:
    path = workspace.complete()
    name = "_C.cpython-39-x86_64-linux-gnu.so"
    path.rename(path.with_name(name))
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text(f"acme/{name},,\n")
    workspace.library("python_distribution_package: acme\nlibrary_glob: acme/_C.cpython-39-*.so\n")
    result = resolve(workspace)
    assert result.returncode == 0
    assert result.stdout.startswith("note: torch/cpu/silu_and_mul/acme: _C.cpython-39-x86_64")


def test_what_is_no_interpreter_is_misuse(workspace: Workspace) -> None:
    result = resolve(workspace, "--python", workspace.root / "python")
    assert result.returncode == 2
    assert result.stderr.startswith(f"linked-resolver: {workspace.root}/python: expected a Python")


@pytest.mark.parametrize("answer", ["[1, 2]", "[1, 2, 3]", '["a", ["b", 5], null]', "{}", "hello"])
def test_a_program_that_is_no_interpreter_is_misuse(workspace: Workspace, answer: str) -> None:
    program = workspace.root / "python"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    result = resolve(workspace, "--python", program)
    assert result.returncode == 2
    assert result.stderr.startswith(f"linked-resolver: {program}: expected a Python interpreter")


def test_contracts_under_a_path_that_no_file_system_has(workspace: Workspace) -> None:
    result = run(workspace, "resolve", "--contracts", "/" + "a" * 300)
    assert result.returncode == 1
    assert result.stderr.startswith("error[layout]: the folder of the contracts does not exist\n")


def test_a_name_that_is_no_text_is_written_escaped(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.contracts / "torch" / "cpu" / "\udcff.yaml").touch()
    result = resolve(workspace, "--output", workspace.output, "--json")
    assert result.returncode == 1
    document = json.loads((workspace.output / "diagnostics.json").read_text(encoding="utf-8"))
    assert json.loads(result.stdout) == document
    assert document["problems"][0]["file"].endswith("/torch/cpu/\udcff.yaml")


def test_distributions_of_another_interpreter_are_meant(workspace: Workspace) -> None:
    workspace.complete()
    wrapper = workspace.root / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH="{workspace.site}" exec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    command = ["resolve", "--contracts", str(workspace.contracts), "--python", str(wrapper)]
    assert main(command) == 0


def test_an_output_folder_that_cannot_be_written(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.root / "build").touch()
    result = resolve(workspace, "--output", workspace.output)
    assert result.returncode == 1
    assert result.stderr.startswith("error[output]: the manifest cannot be written\n")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "x"])
def test_a_time_limit_is_a_number_of_seconds(workspace: Workspace, seconds: str) -> None:
    result = resolve(workspace, f"--time-limit={seconds}")
    assert result.returncode == 2
    assert "argument --time-limit" in result.stderr


def test_the_working_folder_is_no_place_of_installation(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.root / "acme.egg-info").mkdir()
    (workspace.root / "acme.egg-info" / "PKG-INFO").write_text("Name: acme\nVersion: 0.1\n")
    for command in (["-m", "linked_resolver"], ["-c", "import linked_resolver.cli as c; c.run()"]):
        result = subprocess.run(
            [sys.executable, *command, "resolve", "--contracts", str(workspace.contracts)],
            env={**os.environ, "PYTHONPATH": str(workspace.site)},
            cwd=workspace.root,
            capture_output=True,
            text=True,
        )
        assert result.stderr == ""
        assert "slot 16, acme 1.0" in result.stdout


def test_the_version_is_printed(workspace: Workspace) -> None:
    assert run(workspace, "--version").stdout == f"{__version__}\n"


def test_a_reader_that_has_enough_is_no_crash(workspace: Workspace) -> None:
    workspace.complete("".join(f"void a{'b' * 200}{number}() {{}}\n" for number in range(500)))
    command = f'{sys.executable} -m linked_resolver inspect "$0" --no-load | head -1'
    result = subprocess.run(
        ["bash", "-c", command, str(workspace.site / "acme/_C.so")], capture_output=True, text=True
    )
    assert result.stderr == ""
    assert result.stdout.startswith("# ")


def test_inspect_prints_lines_for_a_contract(workspace: Workspace) -> None:
    workspace.complete(
        "namespace at { struct Tensor; } void f(at::Tensor&) {} void g(int) {} int data;\n"
        'extern "C" void __tvm_ffi_run() {} static void hidden() {}'
    )
    result = run(workspace, "inspect", "acme", "--no-load")
    assert result.returncode == 0
    assert result.stdout == (
        f"# acme 1.0\n\n# {workspace.site}/acme/_C.so\n"
        "library_glob: acme/_C.so\nrequired_symbols:\n  - __tvm_ffi_run\n  - f(at::Tensor&)\n"
        "  - g(int)\n"
    )


def test_inspect_shows_what_matches(workspace: Workspace) -> None:
    workspace.complete("void silu_and_mul(int) {} void gelu(int) {}")
    result = run(workspace, "inspect", "acme", "--no-load", "--grep", "^silu|^relu")
    assert "silu_and_mul(int)" in result.stdout
    assert "gelu" not in result.stdout


def test_inspect_as_json(workspace: Workspace) -> None:
    path = workspace.complete("void f(int) {}")
    found = json.loads(run(workspace, "inspect", path, "--no-load", "--json").stdout)
    assert found["problems"] == []
    (library,) = found["libraries"]
    assert library["functions"] == ["f(int)"]
    assert library["glob"] is None


def test_inspect_with_a_faulty_expression_is_misuse(workspace: Workspace) -> None:
    path = workspace.complete()
    result = run(workspace, "inspect", path, "--no-load", "--grep", "(")
    assert result.returncode == 2
    assert "--grep: expected a regular expression, got '('" in result.stderr


@pytest.mark.parametrize("target", ["", " "])
def test_inspect_of_nothing_at_all_is_misuse(workspace: Workspace, target: str) -> None:
    result = run(workspace, "inspect", target)
    assert result.returncode == 2
    assert "expected a library file or a distribution, got nothing" in result.stderr


def test_inspect_of_a_pipe_does_not_wait(workspace: Workspace) -> None:
    file = workspace.root / "a.so"
    os.mkfifo(file)
    result = run(workspace, "inspect", file)
    assert result.returncode == 1
    assert "got: [Errno 22] Not a regular file" in result.stderr


def test_inspect_of_a_name_longer_than_any(workspace: Workspace) -> None:
    result = run(workspace, "inspect", "a" * 300)
    assert result.returncode == 1
    assert result.stderr.startswith("error[distribution-missing]: the Python distribution")


def test_inspect_of_nothing_that_is_installed(workspace: Workspace) -> None:
    result = run(workspace, "inspect", "no-such-distribution", "--no-load")
    assert result.returncode == 1
    assert result.stderr.startswith("error[distribution-missing]: the Python distribution")


def test_inspect_of_a_file_that_is_no_library(workspace: Workspace) -> None:
    file = workspace.root / "a.so"
    file.write_text("text")
    result = run(workspace, "inspect", file, "--no-load")
    assert result.returncode == 1
    assert result.stderr.startswith("error[library-file]: `a.so` cannot be read")
