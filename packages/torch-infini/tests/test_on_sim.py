"""Runs the tests of this folder once more, on two simulated asynchronous devices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

pytestmark = pytest.mark.once

FILES = sorted(
    path.relative_to(TESTS)
    for folder in ("runtime", "ops", "conformance")
    for path in (TESTS / folder).glob("test_*.py")
)


@pytest.mark.skipif("INFINI_RT_SIM_DEVICES" in os.environ, reason="this is the run on sim")
@pytest.mark.parametrize("file", FILES, ids=str)
def test_contracts_hold_on_two_asynchronous_devices(file: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "INFINI_RT_SIM_DEVICES": "2",
        "INFINI_RT_SIM_DELAY": "200",  # microseconds a task: what does not wait reads old values
    }
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not once"]
    result = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'sim'}", str(TESTS / file)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # 5: the file has only tests that do not depend on the backend.
    assert result.returncode in (0, 5), result.stdout + result.stderr
    # Skips for want of asynchronous devices end in these words; there they exist.
    assert "runs on sim" not in result.stdout, result.stdout
