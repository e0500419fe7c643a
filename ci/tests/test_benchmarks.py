from __future__ import annotations

import json
from pathlib import Path

import pytest

from ci import benchmarks
from ci.steps import StepError


def test_results_become_a_table(tmp_path: Path) -> None:
    results = {"memcpy dispatch": {"value": 12.34567, "unit": "ns"}}
    (tmp_path / "infinirt.json").write_text(json.dumps(results), encoding="utf-8")
    assert benchmarks.markdown(tmp_path).splitlines() == [
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
