from __future__ import annotations

import json
from pathlib import Path

import pytest

from ci import benchmarks
from ci.native import ROOT
from ci.steps import StepError

PROGRAM = """
import json, sys
assert sys.argv[-2] == "--output"
open(sys.argv[-1], "w").write(json.dumps({json}))
"""


def test_results_become_a_table(tmp_path: Path) -> None:
    results = {"memcpy dispatch": {"value": 12.34567, "unit": "ns"}}
    (tmp_path / "infinirt.json").write_text(json.dumps(results), encoding="utf-8")
    assert benchmarks.markdown([tmp_path / "infinirt.json"]).splitlines() == [
        "| benchmark | value | unit |",
        "|---|---:|---|",
        "| infinirt: memcpy dispatch | 12.35 | ns |",
    ]


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "{}", '{"a": 1}', '{"a": {"value": "1", "unit": "ns"}}']
)
def test_anything_but_results_is_refused(text: str) -> None:
    with pytest.raises(StepError):
        benchmarks.parse(text)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SystemExit, match="no benchmark decod; there are infinirt, ops, matrix"):
        benchmarks.steps(["ops", "decod"])


def test_names_choose_what_is_measured() -> None:
    assert [step.name for step in benchmarks.steps(["matrix"])] == ["matrix: measure", "table"]
    names = [step.name for step in benchmarks.steps([])]
    assert [f"{name}: measure" for name in benchmarks.NAMES] == [
        name for name in names if name.endswith("measure")
    ]


def test_a_name_may_mean_several() -> None:
    names = [step.name for step in benchmarks.steps(["kernels", "ops"])]
    assert names == [*(f"{name}: measure" for name in benchmarks.GROUPS["kernels"]), "table"]
    assert {*benchmarks.GROUPS["kernels"]} <= {*benchmarks.NAMES}


def test_every_benchmark_program_is_known_to_the_session() -> None:
    programs = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("packages/*/benchmarks/*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    }
    assert programs == set(benchmarks.PROGRAMS.values())


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark program in place of `plans`, with results below `tmp_path`."""
    path = tmp_path / "program.py"
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path / "bench")
    monkeypatch.setitem(benchmarks.PROGRAMS, "plans", str(path))
    return path


def test_a_program_writes_results_which_the_table_takes(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(PROGRAM.format(json={"step": {"value": 2, "unit": "ms"}}))
    assert benchmarks.measure("plans") == "1 results"
    benchmarks.write_table(["plans"])
    assert "| plans: step | 2 | ms |" in capsys.readouterr().out


def test_a_program_without_results_fails_and_leaves_no_old_ones(program: Path) -> None:
    program.write_text(PROGRAM.format(json={"step": {"value": 2, "unit": "ms"}}))
    benchmarks.measure("plans")
    program.write_text("")
    with pytest.raises(StepError, match="wrote no"):
        benchmarks.measure("plans")
    with pytest.raises(StepError, match="no results of plans"):
        benchmarks.write_table(["plans"])


def test_a_program_with_other_results_fails(program: Path) -> None:
    program.write_text(PROGRAM.format(json={"step": 2}))
    with pytest.raises(StepError, match="expected value and unit"):
        benchmarks.measure("plans")
