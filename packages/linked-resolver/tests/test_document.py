import os
from pathlib import Path

import pytest
from linked_workspace import CONTRACT, LIBRARY, Workspace

from linked_resolver.contracts import IMPLEMENTATION_RULES
from linked_resolver.document import GREATEST_SIZE, Text, read_document
from linked_resolver.values import check_glob


def test_values_come_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("library: acme\nrequired_symbols:\n  - f(int)\n  - >-\n    g(int,\n    int)\n")
    document, problems = read_document(file, IMPLEMENTATION_RULES)
    assert problems == []
    assert document.text("library") == Text("acme", 1)
    assert document.texts("required_symbols") == (Text("f(int)", 3), Text("g(int, int)", 4))
    assert document.text("operator_schema") is None


def test_a_file_that_is_not_utf8_has_its_line(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.contracts / "torch/cpu/acme.yaml").write_bytes(LIBRARY.encode() + b"# \xe9\n")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[contract-unreadable]: the file is not UTF-8
  --> <contracts>/torch/cpu/acme.yaml:3
  expected: UTF-8 text
  got: byte 0xe9 at offset 61
  help: save the file as UTF-8"""
    )


def test_a_file_that_is_too_large_is_not_read(workspace: Workspace) -> None:
    workspace.complete()
    workspace.write("torch/cpu/ops/silu_and_mul/acme.yaml", CONTRACT + "#" * GREATEST_SIZE)
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[contract-unreadable]: the file is too large
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml
  expected: at most 65536 bytes
  got: more than 65536 bytes
  help: keep in the file only what belongs to it"""
    )


def test_a_folder_in_place_of_a_file_is_a_problem(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.contracts / "torch/cpu/other.yaml").mkdir()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[contract-unreadable]: the file cannot be read: Is a directory
  --> <contracts>/torch/cpu/other.yaml
  help: make it a readable file"""
    )


@pytest.mark.parametrize("file", ["acme.yaml", "ops/silu_and_mul/acme.yaml"])
def test_a_pipe_in_place_of_a_file_is_a_problem_and_not_waited_for(
    workspace: Workspace, file: str
) -> None:
    workspace.complete()
    path = workspace.contracts / "torch" / "cpu" / file
    path.unlink()
    os.mkfifo(path)
    assert workspace.text(workspace.prove().problems).startswith(
        "error[contract-unreadable]: the file cannot be read: Not a regular file\n"
        f"  --> <contracts>/torch/cpu/{file}\n"
        "  help: make it a readable file"
    )


def test_windows_line_ends_and_a_byte_order_mark_are_read(workspace: Workspace) -> None:
    workspace.complete()
    file = workspace.contracts / "torch/cpu/acme.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + LIBRARY.replace("\n", "\r\n").encode())
    assert workspace.prove().ok


def test_a_pattern_longer_than_any_path_is_refused() -> None:
    problem = check_glob("a" * 513)
    assert problem is not None
    assert problem.message == "the pattern is longer than 512 characters"
