"""The generator: what it makes of operators.json, and what it lists as not registered."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from build_support import declarations, dependencies, operator_table, units
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
        "group": "elementwise",
        "dtypes": ["float32"],
        "inputs": [tensor("input"), tensor("other", dtype_like="input")],
        "attributes": [],
        "outputs": [tensor("out", "broadcast(input, other)", dtype_like="input")],
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
        tensor("weight", dtype_like="input"),
        tensor("bias", dtype_like="input", optional=True),
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
    assert "AppendSizes(result0_shape, input, 0, -1);" in table.text
    assert "result0_shape.push_back(weight.size(0));" in table.text
    assert "call.Input(bias)" in table.text


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


def test_files_are_the_same_for_every_hash_seed(tmp_path: Path) -> None:
    """The table of a whole InfiniOps and the units of its sources, written by a process each."""
    declared = dependencies.find(os.environ).operators_json
    expected = tmp_path / "expected"
    write_files(declared, expected)
    code = (
        "import pathlib, sys, test_operator_table as this\n"
        "this.write_files(*map(pathlib.Path, sys.argv[1:]))"
    )
    for hash_seed in ("0", "1", "2"):  # and this process has a random one
        written = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", code, str(declared), str(written)],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
                "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            },
            check=True,
        )
        assert contents(written) == contents(expected), hash_seed
    assert len(contents(expected)) > 1


def write_files(declared: Path, folder: Path) -> None:
    """What a build generates for the operators that `declared` lists."""
    folder.mkdir()
    table = operator_table.generate(declarations.read(declared), INCLUDE)
    (folder / "operator_table.cc").write_text(table.text, encoding="utf-8")
    units.write(table.sources, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_data_types_become_a_mask(tmp_path: Path) -> None:
    changed = copy.deepcopy(MUL)
    changed["inputs"][0]["dtypes"] = changed["dtypes"] = ["bool", "float32"]
    assert '"mul", "aten::mul.out", 0x801U' in generate(tmp_path, mul=changed).text


def reduction(overload: str, arguments: dict[str, str], **changes: Any) -> dict[str, Any]:
    dims = {"name": "dims", "type": "dims", "of": "input", "default": None}
    keepdim = {"name": "keepdim", "type": "bool", "default": False}
    result = tensor("out", "reduce(input, dims, keepdim)", **changes)
    return operator(
        "Sum",
        [{"overload": overload, "arguments": arguments}],
        inputs=[tensor("input")],
        attributes=[dims, keepdim],
        outputs=[result],
    )


def test_reduction_converts_where_only_that_gives_the_type_asked_for(tmp_path: Path) -> None:
    arguments = {"input": "self", "dims": "dim", "keepdim": "keepdim", "out": "out"}
    body = reduction("aten::sum.IntList_out", arguments, dtype_rule="sum of input")
    table = generate(tmp_path, sum=body)
    assert table.unserved == {}
    assert set(table.overloads) == {"aten::sum.dim_IntList", "aten::sum.IntList_out"}
    result = "ResultType{ResultType::Rule::kSum}"
    assert f"ComputeType(self.scalar_type(), out.scalar_type(), {result})" in table.text
    assert "Dims(dim).Of(self)" in table.text
    assert f"call.Output(out, {result})" in table.text


def test_several_results_are_taken_in_their_order(tmp_path: Path) -> None:
    dim = {"name": "dim", "type": "dim", "of": "input"}
    keepdim = {"name": "keepdim", "type": "bool", "default": False}
    arguments = {"input": "self", "dim": "dim", "keepdim": "keepdim"}
    body = operator(
        "Max",
        [
            {
                "overload": "aten::max.dim_max",
                "arguments": {**arguments, "values": "max", "indices": "max_values"},
            }
        ],
        inputs=[tensor("input")],
        attributes=[dim, keepdim],
        outputs=[
            tensor("indices", "input.shape", dtypes=["int64"]),
            tensor("values", "input.shape", dtype_like="input"),
        ],
    )
    table = generate(tmp_path, max=body)
    assert table.unserved == {}
    assert "FunctionalForm<at::meta::structured_max_dim, 2> op;" in table.text
    fixed = "ResultType{ResultType::Rule::kFixed, c10::ScalarType::Long}"
    indices, values = f"call.Output(max_values, {fixed})", "call.Output(max, ResultType{})"
    assert table.text.index(indices) < table.text.index(values)


def test_numbers_become_tensors_where_the_operator_takes_one(tmp_path: Path) -> None:
    arguments = {"input": "self", "other": "other", "out": "out"}
    body = operator(
        "Eq",
        [{"overload": "aten::eq.Scalar_out", "arguments": arguments}],
        outputs=[tensor("out", "broadcast(input, other)", dtypes=["bool"])],
    )
    table = generate(tmp_path, eq=body)
    assert table.unserved == {}
    assert "const at::Scalar& other" in table.text
    assert "call.Input(other)" in table.text
    assert "c10::ScalarType::Bool" in table.text


def test_lists_lose_their_empty_tensors(tmp_path: Path) -> None:
    body = operator(
        "Cat",
        [
            {
                "overload": "aten::cat.out",
                "arguments": {"tensors": "tensors", "dim": "dim", "out": "out"},
            }
        ],
        inputs=[tensor("tensors", list=True)],
        attributes=[{"name": "dim", "type": "dim", "of": "tensors", "default": 0}],
        outputs=[tensor("out", "concat(tensors, dim)", dtype_like="tensors")],
    )
    table = generate(tmp_path, cat=body)
    assert table.unserved == {}
    assert "const at::ITensorListRef& tensors" in table.text
    assert "if (tensors_views.empty()) return;" in table.text


@pytest.mark.parametrize("name", ["abs.out", "relu", "logical_and.out", "where.self_out"])
def test_elementwise_operators_without_a_class_get_one_of_ours(tmp_path: Path, name: str) -> None:
    names = [argument.name for argument in torch._C._get_schema(*schema_of(name)).arguments]
    inputs = [one for one in names if one != "out"]
    result = "out" if "out" in names else "result0"
    body = operator(
        "Some",
        [{"overload": f"aten::{name}", "arguments": {**{n: n for n in inputs}, "result": result}}],
        inputs=[tensor(one) for one in inputs],
        outputs=[tensor("result", f"{inputs[0]}.shape", dtype_like=inputs[0])],
    )
    table = generate(tmp_path, some=body)
    assert table.unserved == {}
    assert "FunctionalForm<meta::" in table.text


def schema_of(name: str) -> tuple[str, str]:
    base, _, overload = name.partition(".")
    return f"aten::{base}", overload


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overload": "aten::no_such_operator", "arguments": {}}, "has no such overload"),
        (
            {"overload": "aten::mul.out", "arguments": {"input": "self", "out": "out"}},
            "the operator does not take `other`",
        ),
        (
            {
                "overload": "aten::native_group_norm",
                "arguments": {"input": "input", "other": "weight"},
            },
            "the operator does not take `bias`",
        ),
        (
            {"overload": "aten::index.Tensor", "arguments": {"input": "self"}},
            r"its argument `indices` is a List\[Optional\[Tensor\]\]",
        ),
    ],
)
def test_overload_that_cannot_be_registered_is_listed_with_the_reason(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    table = generate(tmp_path, mul=operator("Mul", [change]))
    assert table.overloads == ()
    assert list(table.unserved) == [change["overload"]]
    assert re.search(message, table.unserved[change["overload"]])
    assert json.dumps(change["overload"]) in table.text


def test_operator_that_pytorch_composes_needs_gradients(tmp_path: Path) -> None:
    body = operator(
        "Chunk",
        [
            {
                "overload": "aten::tile",
                "arguments": {"input": "self", "repeats": "dims", "out": "result0"},
            }
        ],
        inputs=[tensor("input")],
        attributes=[{"name": "repeats", "type": "dims", "of": "input"}],
        outputs=[tensor("out", "input.shape", dtype_like="input")],
    )
    table = generate(tmp_path, chunk=body)
    assert "would lose its gradients" in table.unserved["aten::tile"]


def test_unknown_shape_rule_is_listed(tmp_path: Path) -> None:
    changed = copy.deepcopy(LINEAR)
    changed["outputs"][0]["shape"] = "something(input)"
    reason = generate(tmp_path, linear=changed).unserved["aten::linear"]
    assert "the shape rule 'something(input)' of its result is unknown" in reason


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
