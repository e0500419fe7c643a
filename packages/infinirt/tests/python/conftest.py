"""Shared pieces of the tests: the simulated devices, a backend fixture, and child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

# Read when the device is first used, so it must be set before any test module imports infini.rt.
os.environ["INFINI_RT_SIM_DEVICES"] = "2"

import pytest

import infini.rt as rt


@pytest.fixture(params=[name for name in rt.compiled_backends() if name in ("cpu", "sim")])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Selects each backend that has a device here, device 0 current, no faults."""
    name: str = request.param
    rt.select_backend(name)
    rt.set_device(0)
    yield name
    rt.select_backend(name)
    if name == "sim":
        rt.sim.set_fault_plan("")
        rt.sim.set_task_delay(0)
    rt.set_device(0)


@pytest.fixture
def sim() -> Iterator[None]:
    """Selects the simulated accelerator."""
    rt.select_backend("sim")
    rt.set_device(0)
    yield
    rt.sim.set_fault_plan("")
    rt.sim.set_task_delay(0)
    rt.set_device(0)


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs code in a fresh interpreter: (code, timeout, **environment)."""

    def run(code: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
