"""The README shows files that exist and code that runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from linnet.commands.main import main

PACKAGE = Path(__file__).parents[1]
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def test_the_model_shown_is_the_example() -> None:
    (shown,) = re.findall(r"```linnet\n(.*?)```", README, re.DOTALL)
    assert (
        (PACKAGE / "examples" / "two_layer.linnet")
        .read_text()
        .split("module", 1)[1]
        .startswith(shown.split("module", 1)[1])
    )


def test_the_python_shown_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PACKAGE)
    (shown,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(shown, "README.md", "exec"), {})
    assert "['layers.0.proj', 'layers.1.proj']" in capsys.readouterr().out


def test_the_commands_shown_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PACKAGE)
    # `run` needs weights; tests/generation/test_run_command.py has it.
    commands = re.findall(r"^    linnet (?!run )(.*)$", README, re.MULTILINE)
    assert len(commands) == 3
    assert all(main(shlex.split(command, comments=True)) == 0 for command in commands)


def test_every_folder_listed_exists() -> None:
    folders = re.findall(r"^\| `([\w/]+)` \|", README, re.MULTILINE)
    assert len(folders) > 10
    assert all((PACKAGE / folder).is_dir() for folder in folders)
