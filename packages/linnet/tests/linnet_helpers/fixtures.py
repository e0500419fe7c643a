"""Fixtures that the `conftest.py` of several folders take, and what those folders need."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

#: What the extra `models` brings.
MODELS = ("torch", "tokenizers", "gguf", "jinja2")


def ignored_without(*packages: str) -> list[str]:
    """`collect_ignore_glob` of a folder whose tests need `packages`: all of it where one is
    missing.
    """
    return [] if all(find_spec(name) for name in packages) else ["*"]


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for every test, so that none reads what another stored."""
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors gain nothing from threads, and tests run side by side."""
    import torch

    torch.set_num_threads(1)
