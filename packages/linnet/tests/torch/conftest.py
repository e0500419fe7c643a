"""Every test has a home of its own, so that none reads times that another measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

# Helpers have a folder of their own, which mypy's search path names too.
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors gain nothing from threads, and tests run side by side."""
    torch.set_num_threads(1)
