from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeTree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    """A function that makes a git working tree of the given files and returns its root."""

    def make(files: Mapping[str, str]) -> Path:
        root = tmp_path / "folder" / "tree"
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            subprocess.run(["git", "init", "--quiet", "-b", "main", root], check=True)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return root

    return make
