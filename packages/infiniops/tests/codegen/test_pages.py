"""What the operators' pages, the support matrix and the page of the options say."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from codegen.declaration import Operator
from codegen.generate import Options, plan
from codegen.model import Build
from codegen.pages import LINE, operator_page, support_matrix
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


def _plan(ops: str) -> Build:
    options = Options(
        root=ROOT,
        version="0",
        rt_abi_version=1,
        devices=("cpu",),
        architecture="x86_64",
        cpp_entries=False,
        ops=ops,
        smoke=False,
    )
    return plan(options)[0]


def test_a_page_shows_what_was_measured() -> None:
    build = _plan("add")
    figures = {"largest": 0.125, "mean": 0.0625, "share": 0.5}
    known = replace(build, accuracy={"add": {"float32": figures}})
    assert " | 0.12 | 0.062 | 0.5 |" in operator_page(known.operators[0], known)
    assert "0.12" not in operator_page(known.operators[0], replace(build, accuracy={}))


def test_signatures_on_a_page_fit_its_width_and_break_between_parameters() -> None:
    build = _plan("")
    for operator in build.operators:
        page = operator_page(operator, build)
        blocks = re.findall(r"```(?:python|cpp)\n(.*?)\n```", page, re.DOTALL)
        assert len(blocks) == 2, operator.name
        for line in (line for block in blocks for line in block.splitlines()):
            assert len(line) <= LINE, operator.name
            if line.startswith(" "):
                pairs = [line.count(left) == line.count(right) for left, right in ("()", "<>")]
                assert all(pairs), f"{operator.name}: {line}"


def test_the_support_matrix_names_classes_of_dtypes_where_all_of_one_are_meant() -> None:
    assert "| bool, integer, floating, complex |" in support_matrix(_plan("add"))


def test_every_option_is_on_the_page_of_the_build_configuration() -> None:
    page = (ROOT.parents[1] / "docs/infiniops/build.md").read_text()
    project = (ROOT / "cmake/InfiniOpsOptions.cmake").read_text()
    pattern = r"^(?:option\(|set\((?=\w+ \S+ CACHE))(\w+)"
    options = re.findall(pattern, project, re.MULTILINE)
    assert {"WITH_CPU", "INFINI_RT_ROOT", "INFINI_OPS_SANITIZE"} <= {*options}
    assert [name for name in options if f"`{name}`" not in page] == []
