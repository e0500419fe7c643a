from __future__ import annotations

from pathlib import Path

import pytest

from ci import linked
from ci.native import ROOT
from ci.packages import PACKAGES


def test_infiniops_is_built_where_its_providers_are() -> None:
    arguments = linked.install_arguments()
    assert "--no-build-isolation" in arguments
    assert "-Ccmake.define.WITH_LINKED=ON" in arguments
    # CMake keeps options in a tree, so that of other sessions would have them too.
    assert any(argument.startswith("-Cbuild-dir=build/linked-") for argument in arguments)
    assert Path(arguments[-1]).is_dir()
    assert Path(arguments[-1]).name in {package.name for package in PACKAGES}


def test_each_provider_is_pinned() -> None:
    for requirement in linked.PROVIDERS:
        assert any(sign in requirement for sign in ("==", "<")), requirement


def test_the_steps_run_tests_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFINI_OPS_LINKED_TESTS", raising=False)
    names = [step.name for step in linked.steps([])]
    assert names[0] == "contracts: prove"
    assert (ROOT / linked.TESTS / "test_vllm.py").is_file()
    assert (ROOT / linked.TESTS / "test_tvm_ffi.py").is_file()


def test_contracts_are_proved_by_the_script_that_cmake_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(linked, "run", lambda *command, cwd: commands.append(command))
    linked.prove()
    ((_, script, *arguments),) = commands
    assert Path(script).is_file()
    assert arguments == ["--device", "cpu"]
