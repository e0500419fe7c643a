from __future__ import annotations

from pathlib import Path

import pytest

from ci import infiniops, infinirt, matrix
from ci.matrix import Cell
from ci.steps import StepError


def test_the_matrix_has_every_python_with_every_torch() -> None:
    assert {str(cell) for cell in matrix.chosen([])} == {
        f"{python}x{torch}" for python in ("3.10", "3.11", "3.12") for torch in ("2.12", "2.13")
    }


def test_arguments_choose_cells_in_their_order() -> None:
    assert matrix.chosen(["3.12x2.13", "3.10x2.12"]) == [Cell("3.12", "2.13"), Cell("3.10", "2.12")]


def test_a_cell_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(SystemExit, match=r"no cell 3.9x2.12 .* there are 3.10x2.12, "):
        matrix.chosen(["3.12x2.13", "3.9x2.12"])


def test_every_cell_is_a_step_after_the_prefixes() -> None:
    names = [step.name for step in matrix.steps(["3.10x2.12"])]
    assert names == [
        "infinirt: build the prefix",
        "infiniops: build the prefix",
        "Python 3.10, torch 2.12",
    ]


def test_a_cell_pins_the_minor_version_of_torch() -> None:
    assert Cell("3.10", "2.12").requirements[0] == "torch==2.12.*"


@pytest.fixture
def prefixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Points the builds at a folder of the test's own, in which the prefixes exist."""
    monkeypatch.setattr("ci.native.BUILD", tmp_path)
    monkeypatch.setattr("ci.matrix.BUILD", tmp_path)
    for configuration in (infinirt.TESTS, infiniops.TESTS):
        configuration.prefix.mkdir(parents=True)
    return tmp_path


def test_a_missing_prefix_fails_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.native.BUILD", tmp_path)
    with pytest.raises(StepError, match="no prefix"):
        matrix.try_cell(Cell("3.10", "2.12"))


def test_a_missing_interpreter_fails_the_cell_and_leaves_nothing(
    prefixes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(StepError, match=r"exit \d+: uv venv|cannot start `uv venv"):
        matrix.try_cell(Cell("3.99", "2.12"))
    assert not (prefixes / "matrix" / "3.99x2.12").exists()


@pytest.mark.parametrize(
    ("printed", "fits"),
    [("3.10.13 2.12.1+cpu", True), ("3.10.13 2.13.0", False), ("3.1.0 2.12.1", False)],
)
def test_an_environment_with_other_versions_fails_the_cell(
    printed: str, fits: bool, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {printed}\n", encoding="utf-8")
    python.chmod(0o755)
    cell = Cell("3.10", "2.12")
    if fits:
        assert matrix.versions_of(python, cell) == "Python 3.10.13, torch 2.12.1+cpu"
    else:
        with pytest.raises(StepError, match=r"expected Python 3.10 and torch 2.12, found"):
            matrix.versions_of(python, cell)


def test_tests_run_with_both_prefixes_on_the_loader_path_operators_first(tmp_path: Path) -> None:
    python = tmp_path / "python"
    record = tmp_path / "record"
    python.write_text(
        f'#!/bin/sh\necho "$LD_LIBRARY_PATH|$INFINI_RT_SIM_DEVICES|$PWD|$*" > {record}\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    matrix.run_tests(
        python, ["tests/x"], (Path("/rt"), Path("/ops")), {"INFINI_RT_SIM_DEVICES": "2"}
    )
    path, devices, folder, arguments = record.read_text(encoding="utf-8").strip().split("|")
    assert path.split(":")[:2] == ["/ops/lib", "/rt/lib"]
    assert devices == "2"
    assert folder.endswith("/packages/torch-infini")
    assert arguments == "-m pytest -q tests/x"
