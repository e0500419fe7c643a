"""What the operators' pages say of accuracy."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from codegen.declaration import Operator
from codegen.generate import Options, plan
from codegen.pages import operator_page
from codegen.read import read_declarations
from codegen.sweep import sweep_json

ROOT = Path(__file__).parents[2]
DECLARED = read_declarations(ROOT / "src" / "base")
MEASURED = json.loads((ROOT / "src" / "base" / "accuracy.json").read_text())
FLOATING = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("operator", DECLARED, ids=lambda operator: operator.name)
def test_every_operator_with_a_generated_sweep_is_measured_within_its_tolerance(
    operator: Operator,
) -> None:
    sweep = json.loads(sweep_json(operator))
    measured = MEASURED.get(operator.name, {})
    rounds = any(output["dtype"].startswith(("like", "sum")) for output in sweep["outputs"])
    if sweep["layouts"] and rounds:
        assert set(FLOATING) & sweep["tolerance"].keys() <= measured.keys()
    for figures in measured.values():
        assert 0 <= figures["mean"] <= figures["largest"]
        assert figures["share"] <= 1


def test_a_page_shows_what_was_measured() -> None:
    options = Options(
        root=ROOT,
        version="0",
        rt_abi_version=1,
        devices=("cpu",),
        architecture="x86_64",
        cpp_entries=False,
        ops="add",
        smoke=False,
    )
    build, _ = plan(options)
    figures = {"largest": 0.125, "mean": 0.0625, "share": 0.5}
    known = replace(build, accuracy={"add": {"float32": figures}})
    assert " | 0.12 | 0.062 | 0.5 |" in operator_page(known.operators[0], known)
    assert "0.12" not in operator_page(known.operators[0], replace(build, accuracy={}))
