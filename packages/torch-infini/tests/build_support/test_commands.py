"""The setuptools commands, without compiling."""

from __future__ import annotations

import importlib.machinery
import os
import re
import sys
from pathlib import Path

import pytest
from build_support import commands
from build_support.operator_table import ADAPTERS, GRADIENTS
from setuptools import Distribution
from setuptools.errors import SetupError

import torch_infini

pytestmark = pytest.mark.once

ROOT = Path(commands.__file__).resolve().parents[1]


def distribution() -> Distribution:
    return Distribution({"name": "torch-infini", "ext_modules": [commands.extension()]})


def test_every_source_is_listed() -> None:
    adapters = {source for adapter in ADAPTERS.values() for source in adapter.sources}
    gradients = {gradient.source for gradient in GRADIENTS.values()}
    listed = {*commands.SOURCES, *adapters, *gradients}
    assert listed == {str(path.relative_to(ROOT)) for path in (ROOT / "csrc").rglob("*.cc")}


def test_editable_installs_link_file_by_file_unless_told_otherwise() -> None:
    command = commands.EditableWheel(distribution())
    command.finalize_options()
    assert command.mode == "strict"
    command = commands.EditableWheel(distribution())
    command.mode = "lenient"
    command.finalize_options()
    assert command.mode == "lenient"


def test_only_in_place_builds_write_beside_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    command_class = commands.build_command()
    seen = []
    monkeypatch.setattr(
        command_class.__mro__[1], "run", lambda self: seen.append(bool(self.inplace))
    )
    for editable, in_place in ((False, False), (False, True), (True, False)):
        command = command_class(distribution())
        command.editable_mode = editable
        command.inplace = in_place
        command.finalize_options()
        command.run()
    assert seen == [False, True, False]


def test_the_folder_to_build_in_does_not_hide_the_installed_package() -> None:
    found = importlib.machinery.PathFinder.find_spec("torch_infini", [str(ROOT)])
    assert found is None or found.loader is None  # what is left of a folder hides nothing


def test_record_is_among_the_outputs() -> None:
    command = commands.build_command()(distribution())
    command.build_lib = "build/lib"
    command.finalize_options()
    assert "build/lib/torch_infini/_build_record.json" in command.get_outputs()


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    command = commands.build_command()(distribution())
    with pytest.raises(SetupError, match=r"Install torch, then .* --no-build-isolation"):
        command.run()


def test_building_does_not_load_an_installed_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
    commands.build_command()
    assert os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_warnings_are_errors_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_INFINI_WARNINGS_AS_ERRORS", raising=False)
    assert "-Werror" not in commands._compile_arguments({})
    monkeypatch.setenv("TORCH_INFINI_WARNINGS_AS_ERRORS", "1")
    assert "-Werror" in commands._compile_arguments({})


def test_paths_of_the_machine_are_renamed() -> None:
    arguments = commands._compile_arguments({Path("/somewhere/secret"): "include"})
    assert "-ffile-prefix-map=/somewhere/secret=include" in arguments


def test_ccache_makes_no_path_relative_which_is_then_not_renamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CCACHE_BASEDIR", "/")
    commands.build_command()
    assert os.environ["CCACHE_BASEDIR"] == ""


def test_version_is_that_of_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(r'^version = "(.*)"$', text, re.MULTILINE)
    assert match is not None
    assert torch_infini.__version__ == match[1]
