"""Writes `operators.json`: what this build has, for the packages that build on it.

docs/infiniops/operators-json.md describes every key.
"""

from __future__ import annotations

import json

from .cpp_types import call_parameters, python_signature
from .declaration import Attribute, Operator, Tensor
from .model import Build

SCHEMA = 1


def operators_json(build: Build) -> str:
    """The whole file."""
    document = {
        "schema": SCHEMA,
        "version": build.version,
        "abi": {"infiniops": build.abi_version, "infinirt": build.rt_abi_version},
        "devices": list(build.devices),
        "cpp_entries": build.cpp_entries,
        "operators": {operator.name: _operator(operator, build) for operator in build.operators},
    }
    return json.dumps(document, indent=2) + "\n"


def _operator(operator: Operator, build: Build) -> dict[str, object]:
    return {
        "class": operator.class_name,
        "header": f"infini/ops/base/{operator.name}.h",
        "group": operator.group,
        "summary": operator.summary,
        "agrees_with": operator.agrees_with,
        "signature": {
            "cpp": f"void infini::ops::{operator.class_name}::Call({call_parameters(operator)})",
            "python": python_signature(operator),
        },
        "inputs": [_tensor(tensor, operator) for tensor in operator.inputs],
        "attributes": [_attribute(attribute) for attribute in operator.attributes],
        "outputs": [_tensor(tensor, operator) for tensor in operator.outputs],
        "dtypes": list(operator.dtypes),
        "implementations": {
            device: [
                {"slot": item.slot, "name": item.name, "backend": item.backend}
                for item in build.implementations_of(operator, device)
            ]
            for device in build.devices
        },
        "aten": [
            {"overload": f"aten::{item.overload}", "arguments": dict(item.arguments)}
            for item in operator.aten
        ],
        "linnet": [item.record() for item in operator.linnet],
    }


def _tensor(tensor: Tensor, operator: Operator) -> dict[str, object]:
    record: dict[str, object] = {
        "name": tensor.name,
        "dtypes": list(operator.dtypes_of(tensor)),
        "dtype_like": tensor.like,
        "dtype_rule": _dtype_rule(tensor),
        "rank": [tensor.least_rank, tensor.greatest_rank],
        "shape": tensor.shape.text if tensor.shape else None,
    }
    if tensor in operator.outputs:
        record["may_alias"] = list(tensor.may_alias)
    else:
        record["optional"] = tensor.optional
        record["list"] = tensor.is_list
        if tensor.below is not None:
            record["below"] = tensor.below
        record["written"] = tensor.written
    return record


def _dtype_rule(tensor: Tensor) -> str | None:
    if tensor.dtype_of is not None:
        return f"of {tensor.dtype_of}"
    return None if tensor.sum_of is None else f"sum of {tensor.sum_of}"


def _attribute(attribute: Attribute) -> dict[str, object]:
    record: dict[str, object] = {"name": attribute.name, "type": attribute.type}
    if attribute.has_default:
        record["default"] = attribute.default
    if attribute.optional:
        record["optional"] = True
    if attribute.minimum is not None:
        record["minimum"] = attribute.minimum
    if attribute.like is not None:
        record["dtype_like"] = attribute.like
    if attribute.of is not None:
        record["of"] = attribute.of
    if attribute.optional:
        record["optional"] = True
    if attribute.values:
        record["values"] = list(attribute.values)
    if attribute.dtypes:
        record["dtypes"] = list(attribute.dtypes)
    return record
