"""What the build under test has: not every one has every operator and device."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import infini.ops


def has_device(name: str) -> bool:
    """Whether a device type has kernels in this build and a device on this machine.

    The runtime may know devices that the operators have no kernels for.
    """
    try:
        infini.ops.empty([1], device=name)
    except (ValueError, RuntimeError):
        return False
    operators = infini.ops.operators()
    return bool(operators) and bool(infini.ops.active_implementations(operators[0], name))


def needs_device(name: str) -> pytest.MarkDecorator:
    """Skips a test where the build or the machine has no such device."""
    return pytest.mark.skipif(not has_device(name), reason=f"there is no {name} device here")


def runtime_prefix() -> Path | None:
    """Where InfiniRT's headers and library are for a build: what a build itself would take."""
    root = os.environ.get("INFINI_RT_ROOT")
    if root:
        return Path(root)
    if importlib.util.find_spec("infinirt") is None:
        return None
    prefix: Path = importlib.import_module("infinirt").prefix()
    return prefix


needs_runtime_prefix = pytest.mark.skipif(
    runtime_prefix() is None,
    reason="needs InfiniRT to build against: INFINI_RT_ROOT, or the Python package infinirt",
)


def operator(name: str) -> Any:
    """An operator; where a selection has left it out, what skips the test that calls it."""

    def absent(*_: object, **__: object) -> None:
        pytest.skip(f"this build has no {name}")

    return getattr(infini.ops, name, absent)


def needs_operators(*names: str) -> pytest.MarkDecorator:
    """Skips a test where a selection has left one of the operators out.

    Only for tests that call operators in another process; of others, conftest sees to it.
    """
    absent = [name for name in names if name not in infini.ops.operators()]
    return pytest.mark.skipif(bool(absent), reason=f"this build has no {', '.join(absent)}")
