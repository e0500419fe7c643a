"""Every test has a home of its own, so that none reads times that another measured."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

# The front end needs no PyTorch, and its tests run without it.
collect_ignore_glob = [] if find_spec("torch") else ["*"]


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors gain nothing from threads, and tests run side by side."""
    import torch

    torch.set_num_threads(1)
