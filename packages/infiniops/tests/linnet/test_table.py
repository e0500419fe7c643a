"""The table is what `operators.json` says, and a file that does not fit is a clear error."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import infini.ops
from infini.linnet.table import Bound, Source, read_table

OPERATOR: dict[str, Any] = {
    "inputs": [
        {"name": "input", "dtypes": ["float32", "complex64"], "rank": [1, None], "optional": False},
        {"name": "weight", "dtypes": ["float32"], "rank": [1, 1], "optional": True},
    ],
    "attributes": [{"name": "eps", "type": "double", "default": 1e-6}],
    "outputs": [{"name": "out", "dtypes": ["float32"], "rank": [1, None]}],
    "implementations": {"cpu": [{"slot": 0, "name": "native"}], "sim": []},
    "linnet": [{"op": "m::norm", "arguments": {"input": "x", "weight": "w", "eps": "epsilon"}}],
}


def file(tmp_path: Path, operator: dict[str, Any], schema: int = 1) -> Path:
    path = tmp_path / "operators.json"
    path.write_text(json.dumps({"schema": schema, "operators": {"norm": operator}}))
    return path


def changed(**values: Any) -> dict[str, Any]:
    return {**copy.deepcopy(OPERATOR), **values}


def test_an_entry_becomes_a_record(tmp_path: Path) -> None:
    (mapped,) = read_table(file(tmp_path, OPERATOR))
    assert (mapped.operator, mapped.op, mapped.step) == ("norm", "m::norm", None)
    assert [(a.name, a.source, a.optional) for a in mapped.arguments] == [
        ("input", Source("argument", "x"), False),
        ("weight", Source("argument", "w"), True),
    ]
    assert mapped.arguments[0].dtypes == frozenset(("f32",))
    assert mapped.arguments[0].ranks == (1, None)
    assert dict(mapped.attributes) == {"eps": Source("argument", "epsilon")}
    assert mapped.devices == frozenset(("cpu",))


def test_sources_may_be_views_values_attributes_and_results(tmp_path: Path) -> None:
    entry = {
        "step": "compare",
        "when": {"comparison": "le"},
        "arguments": {
            "input": {"operand": 0, "view": [":", "None"]},
            "eps": {"value": 2.5},
        },
    }
    (mapped,) = read_table(file(tmp_path, changed(linnet=[entry])))
    assert mapped.arguments[0].source == Source("operand", 0, (slice(None), None))
    assert dict(mapped.attributes) == {"eps": Source("value", 2.5)}
    assert dict(mapped.when) == {"comparison": "le"}


def test_an_output_may_be_written_over_an_argument(tmp_path: Path) -> None:
    outputs = [{**OPERATOR["outputs"][0], "may_alias": ["input"]}]
    (mapped,) = read_table(file(tmp_path, changed(outputs=outputs)))
    assert mapped.aliases == frozenset(("input",))


def test_positions_have_a_bound(tmp_path: Path) -> None:
    bound = "input.shape[2] - weight.shape[-1] + 1"
    inputs = [OPERATOR["inputs"][0], {**OPERATOR["inputs"][1], "below": bound}]
    (mapped,) = read_table(file(tmp_path, changed(inputs=inputs)))
    assert mapped.arguments[0].below is None
    assert mapped.arguments[1].below == Bound(("input", 2), ("weight", -1))
    inputs[1]["below"] = "input.shape[0]"
    (mapped,) = read_table(file(tmp_path, changed(inputs=inputs)))
    assert mapped.arguments[1].below == Bound(("input", 0), None)


def test_operators_without_an_entry_are_left_out(tmp_path: Path) -> None:
    assert read_table(file(tmp_path, changed(linnet=[]))) == ()
    plain = changed()
    del plain["linnet"]
    assert read_table(file(tmp_path, plain)) == ()


def test_another_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"schema 2; this version of infini\.linnet reads 1"):
        read_table(file(tmp_path, OPERATOR, schema=2))


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"arguments": {"input": "x"}}, "expected exactly one of `op` and `step`"),
        ({"op": "m::f", "step": "add", "arguments": {"input": "x"}}, "expected exactly one"),
        ({"op": "m::f", "arguments": {"weight": "w"}}, "does not say what the input 'input' is"),
        ({"op": "m::f", "arguments": {"input": "x", "bias": "b"}}, "has no argument 'bias'"),
        ({"op": "m::f", "arguments": {"input": {"from": "x"}}}, "is no source of an argument"),
        (
            {"op": "m::f", "arguments": {"input": {"argument": "x", "view": ["0"]}}},
            "is no source of an argument",
        ),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, entry: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"operators.norm.linnet: .*{text}"):
        read_table(file(tmp_path, changed(linnet=[entry])))


def test_several_outputs_cannot_be_mapped(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="operators with one output are mapped"):
        read_table(file(tmp_path, changed(outputs=OPERATOR["outputs"] * 2)))


def test_this_build_maps_the_operators_that_a_model_needs() -> None:
    table = read_table(infini.ops.operators_json())
    ops = {mapped.op for mapped in table}
    assert {"std.nn.linear::linear", "std.nn.norm::rms_norm"} <= ops
    assert {"add", "mul"} <= {mapped.step for mapped in table}
