"""Skips this folder where the packages of the extra `models` are missing."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("torch", "tokenizers", "gguf", "jinja2")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["*"]


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tests run side by side."""
    import torch

    torch.set_num_threads(1)
