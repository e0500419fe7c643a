"""Options, devices and the seed of the tests of InfiniOps."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

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
    """Device types that have kernels in this build and a device on this machine.

    The operators themselves are asked: a wheel may be there without the Python package infinirt.
    """
    from this_build import has_device  # type: ignore[import-not-found]  # put on the path above

    return [name for name in dict.fromkeys(PLATFORMS.values()) if has_device(name)]


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


DECLARED = {path.stem for path in (Path(__file__).parents[1] / "src" / "base").glob("*.yaml")}
_NO_OPERATOR = re.compile(r"`(\w+)` is no operator of this build; ")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Skips a test that calls an operator which the selection of this build has left out."""
    try:
        return (yield)
    except (AttributeError, NotImplementedError) as error:
        absent = _NO_OPERATOR.search(str(error))
        if absent is None or absent[1] not in DECLARED:
            raise
        pytest.skip(f"this build has no {absent[1]}")


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
def rt() -> Any:
    """The Python package of the runtime, for tests of streams, threads and current devices."""
    return pytest.importorskip("infini.rt", reason="needs the Python package infinirt")


@pytest.fixture
def by_threads(rt: Any) -> Iterator[Callable[[Callable[[], Any]], list[Any]]]:
    """Runs a function once with each of several numbers of threads, and lists what it gave."""
    before = rt.get_num_threads()

    def run(function: Callable[[], Any]) -> list[Any]:
        results = []
        for count in (1, 2, 3, 5):
            rt.set_num_threads(count)
            results.append(function())
        return results

    yield run
    rt.set_num_threads(before)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A fresh seed, printed when the test fails; `--seed` repeats one."""
    given = request.config.getoption("--seed")
    value: int = random.SystemRandom().randrange(2**31) if given is None else given
    print(f"--seed {value}")
    return value
