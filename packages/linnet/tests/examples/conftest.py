"""Examples run with PyTorch, each in a home of its own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*"]


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)
