"""Fixtures of all tests. Most tests run on the backend that the process selects.

`test_on_sim.py` runs them a second time on two simulated devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import torch_infini  # noqa: F401  # where autoload is off, or the package is not installed

sys.path.insert(0, str(Path(__file__).parent / "support"))

if TYPE_CHECKING:
    from gate import Gate


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sim: needs asynchronous simulated devices")
    config.addinivalue_line("markers", "once: does not depend on the selected backend")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from torch_infini import _native

    on_sim = _native.backend_name() == "sim"
    for item in items:
        if "sim" in item.keywords and not on_sim:
            item.add_marker(pytest.mark.skip(reason="runs on sim only; test_on_sim.py does that"))


Child = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_child() -> Child:
    """Runs Python code in a process of its own and returns what it printed."""

    def run(
        code: str,
        *,
        environment: Mapping[str, str] | None = None,
        status: int | None = 0,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if status is not None:
            assert result.returncode == status, result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def two_devices() -> None:
    """Skips a test on a machine with one device."""
    if torch.infini.device_count() < 2:
        pytest.skip("needs two infini devices; runs on sim")


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Holds streams until it is opened; for tests marked `sim`."""
    pytest.importorskip("infini.rt", reason="the Python package of InfiniRT is not installed")
    from gate import Gate

    made = Gate()
    yield made
    made.open()
    for device in range(torch.infini.device_count()):
        torch.infini.synchronize(device)


@pytest.fixture(autouse=True)
def _device_and_stream_are_restored() -> Iterator[None]:
    yield
    assert torch.infini.current_device() == 0
    assert torch.infini.current_stream() == torch.infini.default_stream()
    torch.infini.synchronize()
