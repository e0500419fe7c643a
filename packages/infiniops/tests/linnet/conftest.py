"""What the tests of the Linnet back end share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

# The back end runs where Linnet, PyTorch and the runtime's Python package are; InfiniOps itself
# needs none of them.
NEEDED = ("torch", "linnet", "infini.rt")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]


@pytest.fixture(autouse=True)
def linnet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, so that no test reads times that another measured."""
    home = tmp_path / "linnet-home"
    monkeypatch.setenv("LINNET_HOME", str(home))
    return home
