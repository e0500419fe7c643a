from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ci import lint
from ci.tests.conftest import MakeTree

IDENTITY = ["-c", "user.name=Name", "-c", "user.email=name@example.org"]


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *IDENTITY, *arguments], cwd=root, check=True, capture_output=True)


def test_changed_files_are_those_of_the_branch_the_index_and_the_tree(
    make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_tree({"old.cc": "", "edited.cc": ""})
    monkeypatch.setattr(lint, "ROOT", root)
    _git(root, "add", ".")
    _git(root, "commit", "-m", "Begin")
    assert lint.changed_files("main") == set()
    _git(root, "switch", "-c", "branch")
    make_tree({"committed.cc": ""})
    _git(root, "add", ".")
    _git(root, "commit", "-m", "Add")
    make_tree({"edited.cc": "int x;", "new file.cc": ""})
    assert lint.changed_files("main") == {
        Path("committed.cc"),
        Path("edited.cc"),
        Path("new file.cc"),
    }


def test_the_base_is_the_variable_then_the_remotes_main_then_the_local_one(
    make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_tree({"a": ""})
    monkeypatch.setattr(lint, "ROOT", root)
    monkeypatch.delenv("LINT_BASE", raising=False)
    _git(root, "add", ".")
    _git(root, "commit", "-m", "Begin")
    assert lint.base_branch() == "main"
    _git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert lint.base_branch() == "origin/main"
    monkeypatch.setenv("LINT_BASE", "release")
    assert lint.base_branch() == "release"
