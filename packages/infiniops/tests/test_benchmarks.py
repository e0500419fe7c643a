"""The benchmark of each operator, for `--benchmark`; `benchmarks/run.py` is the same by itself."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

import infini.ops  # after the skip above

FOLDER = infini.ops.prefix() / "share" / "infiniops" / "benchmarks"


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """`benchmarks/run.py` as a module."""
    path = Path(__file__).parents[1] / "benchmarks" / "run.py"
    spec = importlib.util.spec_from_file_location("infiniops_benchmarks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.mark.benchmark
@pytest.mark.parametrize("operator", infini.ops.operators())
def test_an_operator_and_its_peer_are_measured(
    operator: str, runner: Any, request: pytest.FixtureRequest
) -> None:
    entry = json.loads((FOLDER / f"{operator}.json").read_text())
    results = runner.operator_results(entry)
    assert results
    rows = request.config.stash.setdefault(benchmark_rows(request.config), [])
    for result in results:
        assert result.ours > 0
        assert result.peer > 0
        rows.append(
            f"{result.operator:32} {result.dtype:10} {result.case:24} "
            f"{result.ours * 1e6:10.2f} us, torch {result.peer * 1e6:10.2f} us, "
            f"{result.ratio:6.2f} times as fast"
        )


def benchmark_rows(config: pytest.Config) -> Any:
    """The key of the table in conftest.py, which pytest has imported under a name of its own."""
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "BENCHMARKS"):
            return plugin.BENCHMARKS
    raise AssertionError("conftest.py is not loaded")
