import os
from pathlib import Path

import pytest
from linked_workspace import LIBRARY, Workspace

from linked_resolver import ContractError, Selection, parse_selection


def two_devices(workspace: Workspace) -> None:
    """Two implementations for the CPU and one for NVIDIA, whose provider is not installed."""
    workspace.complete()
    workspace.implementation(name="second", slot=17)
    workspace.library(LIBRARY.replace("acme", "absent"), device="nvidia")
    workspace.implementation(device="nvidia", slot=18)


def ids(workspace: Workspace, ops: str, *devices: str) -> list[str]:
    selection = parse_selection(ops, workspace.root)
    resolution = workspace.prove(selection=selection, devices=devices)
    assert workspace.text(resolution.problems) == ""
    return [item.id for item in resolution.implementations]


def test_nothing_selects_everything_of_the_devices(workspace: Workspace) -> None:
    two_devices(workspace)
    both = ["torch/cpu/silu_and_mul/acme", "torch/cpu/silu_and_mul/second"]
    assert ids(workspace, "", "cpu") == ids(workspace, " ; ", "cpu") == both
    assert ids(workspace, "", "sim") == []


@pytest.mark.parametrize("ops", ["add,silu_and_mul", "silu_and_mul;add", " silu_and_mul "])
def test_a_list_selects_operators(workspace: Workspace, ops: str) -> None:
    two_devices(workspace)
    assert len(ids(workspace, ops, "cpu")) == 2


def test_a_list_without_linked_operators_selects_nothing(workspace: Workspace) -> None:
    two_devices(workspace)
    assert ids(workspace, "add", "cpu", "nvidia") == []


def test_a_file_selects_slots(workspace: Workspace) -> None:
    two_devices(workspace)
    file = workspace.root / "a folder" / "ops.json"
    file.parent.mkdir()
    file.write_text(
        '{"silu_and_mul": {"implementations": [0, 17]}, "add": {"implementations": [8]}}'
    )
    assert ids(workspace, f" {file} ", "cpu") == ["torch/cpu/silu_and_mul/second"]


def test_a_slot_of_another_device_is_no_mistake(workspace: Workspace) -> None:
    two_devices(workspace)
    file = workspace.root / "ops.json"
    file.write_text('{"silu_and_mul": {"implementations": [16, 18]}}')
    assert ids(workspace, str(file), "cpu") == ["torch/cpu/silu_and_mul/acme"]


def test_a_file_selects_headers(workspace: Workspace) -> None:
    two_devices(workspace)
    file = workspace.root / "ops.json"
    file.write_text('{"silu_and_mul": "src/linked/torch/cpu/ops/silu_and_mul/second.h"}')
    assert ids(workspace, str(file), "cpu") == ["torch/cpu/silu_and_mul/second"]


def test_a_parsed_selection_is_taken_as_it_is(workspace: Workspace) -> None:
    two_devices(workspace)
    selection = Selection.of({"silu_and_mul": [17], "add": None})
    resolution = workspace.prove(selection=selection, devices=["cpu"])
    assert [item.slot.number for item in resolution.implementations] == [17]


def test_an_unselected_provider_is_not_looked_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_devices(workspace)
    asked: list[str] = []
    from linked_resolver import environment

    real = environment.distributions

    def record(**arguments: object) -> object:
        asked.append(str(arguments["name"]))
        return real(**arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(environment, "distributions", record)
    assert workspace.prove(selection=Selection.of({"add": None})).ok
    assert asked == []
    assert workspace.prove(selection=Selection.of({"silu_and_mul": [16]})).ok
    assert set(asked) == {"acme", "torch"}


def refusal(workspace: Workspace, path: Path) -> str:
    with pytest.raises(ContractError) as caught:
        parse_selection(str(path), workspace.root)
    return workspace.text([caught.value.problem])


def test_a_file_that_is_not_there(workspace: Workspace) -> None:
    assert (
        refusal(workspace, workspace.root / "ops.json")
        == """\
error[selection]: the file cannot be read
  --> <root>/ops.json
  expected: operator: {"implementations": "all" or [slots]}, or the paths of headers
  got: No such file or directory
  help: make it a readable file"""
    )


def test_a_file_that_is_not_utf8(workspace: Workspace) -> None:
    file = workspace.root / "ops.json"
    file.write_bytes(b'{"\xff": 1}')
    assert (
        refusal(workspace, file)
        == """\
error[selection]: the file is not UTF-8
  --> <root>/ops.json
  expected: operator: {"implementations": "all" or [slots]}, or the paths of headers
  got: invalid start byte
  help: save it as UTF-8"""
    )


def test_a_file_that_is_too_large(workspace: Workspace) -> None:
    file = workspace.root / "ops.json"
    file.write_bytes(b" " * (4 * 1024 * 1024 + 1))
    assert (
        refusal(workspace, file)
        == """\
error[selection]: the file is too large
  --> <root>/ops.json
  expected: operator: {"implementations": "all" or [slots]}, or the paths of headers
  got: more than 4 MiB
  help: write only the selection"""
    )


@pytest.mark.parametrize("path", ["a folder/", "/dev/zero", "a.b", "a" * 300 + ".json"])
def test_a_text_with_a_dot_or_a_slash_is_a_path(workspace: Workspace, path: str) -> None:
    with pytest.raises(ContractError, match=r"^error\[selection\]: the file cannot be read\n"):
        parse_selection(path, workspace.root)


def test_a_pipe_is_not_waited_for(workspace: Workspace) -> None:
    file = workspace.root / "ops.json"
    os.mkfifo(file)
    assert (
        refusal(workspace, file)
        == """\
error[selection]: the file cannot be read
  --> <root>/ops.json
  expected: operator: {"implementations": "all" or [slots]}, or the paths of headers
  got: Not a regular file
  help: make it a readable file"""
    )


@pytest.mark.parametrize("header", ["\\ud800", "a\\u0000b"])
def test_a_header_with_a_character_that_no_path_has(workspace: Workspace, header: str) -> None:
    file = workspace.root / "ops.json"
    file.write_text(f'{{"silu_and_mul": "{header}"}}')
    assert (
        refusal(workspace, file)
        == f"""\
error[selection]: the entry of `silu_and_mul` is malformed
  --> <root>/ops.json, key `silu_and_mul`
  expected: operator: {{"implementations": "all" or [slots]}}, or the paths of headers
  got: "{header}"
  help: name a header that is there"""
    )


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000])
def test_values_that_python_cannot_hold(workspace: Workspace, text: str) -> None:
    file = workspace.root / "ops.json"
    file.write_text(text)
    assert (
        refusal(workspace, file)
        == """\
error[selection]: the file is not JSON
  --> <root>/ops.json
  expected: operator: {"implementations": "all" or [slots]}, or the paths of headers
  got: a value that is too large or too deep
  help: write valid JSON, without comments and trailing commas"""
    )
