"""Options, devices and the seed of the tests of InfiniOps."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

# Before the runtime is loaded: two simulated devices; then the generators' package, and what tests
# share. Not this folder itself, whose `linnet` would hide the package of that name.
os.environ.setdefault("INFINI_RT_SIM_DEVICES", "2")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent / "support"))

PLATFORMS = {
    "cpu": "cpu",
    "sim": "sim",
    "cuda": "nvidia",
    "nvidia": "nvidia",
    "metax": "metax",
    "iluvatar": "iluvatar",
    "hygon": "hygon",
    "moore": "moore",
    "musa": "moore",
    "cambricon": "cambricon",
    "mlu": "cambricon",
    "ascend": "ascend",
    "npu": "ascend",
    "thead": "thead",
}
"""Names that `--devices` takes: platforms, and torch's names of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--devices",
        nargs="+",
        default=None,
        metavar="DEVICE",
        help="platform or torch names of the devices to test; all that are there by default",
    )
    parser.addoption(
        "--benchmark",
        action="store_true",
        help="run the benchmark of every operator against its torch peer, and nothing else",
    )
    parser.addoption("--seed", type=int, default=None, help="seed of the random inputs")


def present_devices() -> list[str]:
    """Device types that have kernels in this build and a device on this machine."""
    import infini.ops
    from infini import rt

    found = []
    for name in rt.compiled_backends():
        try:
            infini.ops.empty([1], device=name)
        except (ValueError, RuntimeError):
            continue  # compiled in, but no device on this machine
        if infini.ops.operators() and infini.ops.active_implementations(
            infini.ops.operators()[0], name
        ):
            found.append(name)
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "benchmark: measures; run with `--benchmark`")
    if config.getoption("--benchmark") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--benchmark measures, so it takes one process; leave out -n")
    wanted = config.getoption("--devices")
    if wanted is None:
        return
    present = present_devices()
    chosen = []
    for name in wanted:
        if name not in PLATFORMS:
            raise pytest.UsageError(
                f"--devices: `{name}` is no device; known: {', '.join(sorted(PLATFORMS))}"
            )
        if PLATFORMS[name] not in present:
            raise pytest.UsageError(
                f"--devices: there is no {name} here; this build and machine have "
                f"{', '.join(present)}"
            )
        chosen.append(PLATFORMS[name])
    config.stash[_DEVICES] = chosen


_DEVICES = pytest.StashKey[list[str]]()
BENCHMARKS = pytest.StashKey[list[str]]()
"""Rows of the table that `--benchmark` prints at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    measuring = bool(config.getoption("--benchmark"))
    chosen = [
        item for item in items if (item.get_closest_marker("benchmark") is not None) is measuring
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = terminalreporter.config.stash.get(BENCHMARKS, [])
    if rows:
        terminalreporter.section("benchmarks: infini.ops against torch")
        for row in rows:
            terminalreporter.write_line(row)


@pytest.fixture
def devices(request: pytest.FixtureRequest) -> list[str]:
    """The device types to test."""
    return request.config.stash.get(_DEVICES, None) or present_devices()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A fresh seed, printed when the test fails; `--seed` repeats one."""
    given = request.config.getoption("--seed")
    value: int = random.SystemRandom().randrange(2**31) if given is None else given
    print(f"--seed {value}")
    return value
