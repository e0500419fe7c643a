"""The tour of the language: its programs are answered as it says, and its Python runs."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from linnet.format import format_text
from linnet.spec import Case, read_cases, run_case

PAGE = Path(__file__).parents[3] / "docs" / "linnet" / "tour.md"
TEXT = PAGE.read_text(encoding="utf-8")
CASES = read_cases(TEXT)


@pytest.mark.parametrize("case", CASES, ids=[f"line {case.line}" for case in CASES])
def test_a_program_is_answered_as_the_page_says(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize("case", CASES, ids=[f"line {case.line}" for case in CASES])
def test_a_program_is_laid_out_in_the_one_style(case: Case) -> None:
    ((_, text),) = case.files
    assert format_text(text) == text


@pytest.mark.skipif(find_spec("torch") is None, reason="the front end alone has no PyTorch")
def test_the_python_of_the_page_runs_on_its_last_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    ((_, program),) = CASES[-1].files
    (tmp_path / "small.linnet").write_text(program)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), names)
    shown = capsys.readouterr().out
    assert "torch.Size([2, 1, 32, 16])" in shown
    assert "positions: position 32 is outside the cache" in shown
