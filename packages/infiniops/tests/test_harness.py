"""The options of this test suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from this_build import (  # type: ignore[import-not-found]  # on the path by conftest
    has_device,
    needs_device,
    needs_operators,
)

HERE = Path(__file__).parent


def pytest_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["frob"], "ERROR: --devices: `frob` is no device; known: ascend, cambricon, cpu, cuda, "),
        (["cpu", "nvidia"], "ERROR: --devices: there is no nvidia here; this build and machine "),
        (["musa"], "ERROR: --devices: there is no musa here; this build and machine have cpu"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_device_that_is_unknown_or_absent_is_an_error(names: list[str], message: str) -> None:
    if "nvidia" in names and has_device("nvidia"):
        pytest.skip("this machine has one")
    result = pytest_run("tests/test_linked.py", "--devices", *names)
    assert result.returncode == 4
    assert result.stderr.startswith(message)


@pytest.mark.parametrize("name", ["cpu", pytest.param("sim", marks=needs_device("sim"))])
def test_devices_that_are_there_are_taken_by_their_names(name: str) -> None:
    result = pytest_run("tests/test_linked.py", "--collect-only", "--devices", name)
    assert result.returncode == 0, result.stderr


def test_benchmarks_run_alone_and_only_when_asked_for() -> None:
    files = ["tests/test_benchmarks.py", "tests/test_linked.py", "--collect-only"]
    usual = pytest_run(*files).stdout
    asked = pytest_run(*files, "--benchmark").stdout
    assert "test_an_operator_and_its_peer" not in usual
    assert "test_linked.py" in usual
    assert "test_an_operator_and_its_peer_are_measured[add]" in asked
    assert "test_linked.py" not in asked


def test_benchmarks_take_one_process() -> None:
    pytest.importorskip("xdist")
    result = pytest_run("tests/test_benchmarks.py", "--benchmark", "-n", "2")
    assert result.returncode == 4
    assert "--benchmark measures, so it takes one process; leave out -n" in result.stderr


@needs_operators("mul")
def test_a_benchmark_prints_its_table() -> None:
    pytest.importorskip("torch")
    result = pytest_run("tests/test_benchmarks.py", "--benchmark", "-k", "[mul]")
    assert result.returncode == 0, result.stdout
    assert "benchmarks: infini.ops against torch" in result.stdout
    assert "times as fast" in result.stdout
