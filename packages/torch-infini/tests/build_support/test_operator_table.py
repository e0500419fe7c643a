"""The generator: what it makes of operators.json, and what stops the build."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from build_support import declarations, operator_table
from build_support.dependencies import DependencyError
from torch.utils import cpp_extension

pytestmark = pytest.mark.once

INCLUDE = Path(cpp_extension.include_paths()[0])


def tensor(name: str, shape: str | None = None, **changes: Any) -> dict[str, Any]:
    fields = {"dtypes": ["float32"], "dtype_like": None, "rank": [0, None], "shape": shape}
    return {"name": name, **fields, **changes}


def operator(class_name: str, aten: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "class": class_name,
        "header": f"infini/ops/base/{class_name.lower()}.h",
        "inputs": [tensor("input"), tensor("other")],
        "attributes": [],
        "outputs": [tensor("out", "broadcast(input, other)")],
        "aten": aten,
        **changes,
    }


MUL = operator(
    "Mul",
    [{"overload": "aten::mul.out", "arguments": {"input": "self", "other": "other", "out": "out"}}],
)
LINEAR = operator(
    "Linear",
    [
        {
            "overload": "aten::linear",
            "arguments": {
                "input": "input",
                "weight": "weight",
                "bias": "bias",
                "out": "result0",
            },
        }
    ],
    inputs=[
        tensor("input", rank=[1, None]),
        tensor("weight"),
        tensor("bias", optional=True),
    ],
    outputs=[tensor("out", "[*input.shape[:-1], weight.shape[0]]", dtype_like="input")],
)


def generate(tmp_path: Path, **operators: dict[str, Any]) -> operator_table.Table:
    document = {
        "schema": 1,
        "version": "9.9",
        "abi": {"infiniops": 1, "infinirt": 1},
        "cpp_entries": True,
        "operators": operators,
    }
    path = tmp_path / "operators.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return operator_table.generate(declarations.read(path), INCLUDE)


def test_structured_overload_is_registered_in_all_its_forms(tmp_path: Path) -> None:
    table = generate(tmp_path, mul=MUL)
    assert table.overloads == ("aten::mul.Tensor", "aten::mul.out", "aten::mul_.Tensor")
    assert "at::meta::structured_mul_Tensor" in table.text
    assert "#include <ATen/ops/mul_meta.h>" in table.text
    assert "#include <infini/ops/base/mul.h>" in table.text
    assert table.sources == ()


def test_function_makes_its_result_by_the_shape_rule(tmp_path: Path) -> None:
    table = generate(tmp_path, linear=LINEAR)
    assert table.overloads == ("aten::linear",)
    assert "AppendSizes(shape, input, 0, -1);" in table.text
    assert "shape.push_back(weight.size(0));" in table.text
    assert "call.View(bias)" in table.text


def test_table_holds_exactly_what_the_build_has(tmp_path: Path) -> None:
    assert generate(tmp_path).overloads == ()
    both = generate(tmp_path, mul=MUL, linear=LINEAR)
    assert set(both.overloads) == {
        "aten::linear",
        "aten::mul.Tensor",
        "aten::mul.out",
        "aten::mul_.Tensor",
    }


def test_text_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    one = generate(tmp_path, mul=MUL, linear=LINEAR)
    two = generate(tmp_path, linear=LINEAR, mul=MUL)
    assert one == two
    assert str(tmp_path) not in one.text


def test_data_types_become_a_mask(tmp_path: Path) -> None:
    changed = copy.deepcopy(MUL)
    changed["inputs"][0]["dtypes"] = ["bool", "float32"]
    assert '"mul", "aten::mul.out", 0x801U' in generate(tmp_path, mul=changed).text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"overload": "aten::no_such_operator", "arguments": {}},
            "operators.json names aten::no_such_operator, which torch .* does not have",
        ),
        (
            {"overload": "aten::mul.out", "arguments": {"input": "self", "out": "out"}},
            "nothing gives its argument `other`",
        ),
        (
            {"overload": "aten::cat.out", "arguments": {"input": "tensors", "out": "out"}},
            "torch-infini cannot register it",
        ),
        (
            {"overload": "aten::native_layer_norm", "arguments": {"input": "input"}},
            "torch-infini cannot register it",
        ),
        (
            {"overload": "aten::arange", "arguments": {}},
            "its argument `dtype` is a",
        ),
    ],
)
def test_overload_that_cannot_be_registered_stops_the_build(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DependencyError, match=message):
        generate(tmp_path, mul=operator("Mul", [change]))


def test_unknown_shape_rule_stops_the_build(tmp_path: Path) -> None:
    changed = copy.deepcopy(LINEAR)
    changed["outputs"][0]["shape"] = "something(input)"
    with pytest.raises(DependencyError, match=r"the shape rule 'something\(input\)'"):
        generate(tmp_path, linear=changed)


def write(tmp_path: Path, **changes: Any) -> Path:
    document = {
        "schema": 1,
        "version": "9.9",
        "abi": {"infiniops": 1, "infinirt": 1},
        "cpp_entries": True,
        "operators": {},
    }
    path = tmp_path / "operators.json"
    path.write_text(json.dumps({**document, **changes}), encoding="utf-8")
    return path


def test_unknown_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match="expected schema 1, got 2"):
        declarations.read(write(tmp_path, schema=2))


def test_build_without_entries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match="-DGENERATE_OPERATOR_CALL_INSTANTIATIONS=ON"):
        declarations.read(write(tmp_path, cpp_entries=False))


def test_every_structured_form_exists_in_this_torch(tmp_path: Path) -> None:
    for overload in generate(tmp_path, mul=MUL, linear=LINEAR).overloads:
        base, _, name = overload.removeprefix("aten::").partition(".")
        assert torch._C._get_schema(f"aten::{base}", name) is not None
