"""Generates the C++ file that registers the operators of the found InfiniOps.

Each overload of operators.json is one of three kinds:

- a structured kernel of PyTorch (`aten::add.out`): registered in all its forms; PyTorch's own
  `meta` function checks, promotes and broadcasts;
- a function whose arguments and results all map to the operator's (`aten::linear`): the shape rule
  of operators.json gives the result;
- one with an adapter written by hand, because it asks for more than the operator has.

Anything else is listed with its reason in `UnservedOverloads`; a test compares that list with what
is expected of the InfiniOps of the same version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from build_support import hooks, kernels, schemas
from build_support.declarations import Declarations, Operator, Overload
from build_support.kernels import Kernels
from build_support.overloads import overloads_of
from build_support.schemas import Schema, UnservedError

GENERATOR = "build_support/operator_table.py"

# In the order of `infini::rt::DataType`.
DATA_TYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2"),
]


@dataclass(frozen=True)
class Adapter:
    """A kernel written by hand; its function takes the operator's info, then the arguments."""

    header: str
    sources: tuple[str, ...]
    function: str
    result: str
    at_registration: str = ""  # a statement that PyTorch needs beside the kernel
    includes: tuple[str, ...] = ()


_RMS_NORM = ("csrc/ops/adapters/fused_rms_norm.cc", "csrc/ops/adapters/normalization.cc")
_LAYER_NORM = ("csrc/ops/adapters/native_layer_norm.cc", "csrc/ops/adapters/normalization.cc")

ADAPTERS = {
    "aten::_fused_rms_norm": Adapter(
        header="ops/adapters/fused_rms_norm.h",
        sources=_RMS_NORM,
        function="FusedRmsNorm",
        result="std::tuple<at::Tensor, at::Tensor>",
    ),
    "aten::rms_norm": Adapter(
        header="ops/adapters/fused_rms_norm.h",
        sources=_RMS_NORM,
        function="RmsNorm",
        result="at::Tensor",
    ),
    "aten::_scaled_dot_product_fused_attention_overrideable": Adapter(
        header="ops/adapters/fused_attention.h",
        sources=("csrc/ops/adapters/fused_attention.cc",),
        function="FusedAttention",
        result="adapters::AttentionResult",
        at_registration="at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr("
        "&adapters::ChooseAttention);",
        includes=("<ATen/native/transformers/attention.h>",),
    ),
    "aten::native_layer_norm": Adapter(
        header="ops/adapters/native_layer_norm.h",
        sources=_LAYER_NORM,
        function="NativeLayerNorm",
        result="adapters::LayerNormResult",
    ),
    "aten::layer_norm": Adapter(
        header="ops/adapters/native_layer_norm.h",
        sources=_LAYER_NORM,
        function="LayerNorm",
        result="at::Tensor",
    ),
}


@dataclass(frozen=True)
class Gradient:
    """Gradients written by hand, for an operator that PyTorch composes of others."""

    header: str
    source: str
    function: str


GRADIENTS = {
    "aten::_fused_rms_norm": Gradient(
        header="autograd/fused_rms_norm.h",
        source="csrc/autograd/fused_rms_norm.cc",
        function="FusedRmsNorm",
    ),
    "aten::rms_norm": Gradient(
        header="autograd/fused_rms_norm.h",
        source="csrc/autograd/fused_rms_norm.cc",
        function="RmsNorm",
    ),
    "aten::layer_norm": Gradient(
        header="autograd/native_layer_norm.h",
        source="csrc/autograd/native_layer_norm.cc",
        function="LayerNorm",
    ),
    "aten::linear": Gradient(
        header="autograd/linear.h",
        source="csrc/autograd/linear.cc",
        function="Linear",
    ),
    "aten::native_layer_norm": Gradient(
        header="autograd/native_layer_norm.h",
        source="csrc/autograd/native_layer_norm.cc",
        function="NativeLayerNorm",
    ),
}


@dataclass(frozen=True)
class Table:
    """The generated file and the sources that belong to it."""

    text: str
    sources: tuple[str, ...]
    overloads: tuple[str, ...]
    unserved: dict[str, str]


def generate(declarations: Declarations, torch_include: Path) -> Table:
    """Returns the table for `declarations` and the torch whose headers are in `torch_include`."""
    infos: list[str] = []
    found: list[Kernels] = []
    gradients: dict[str, Gradient] = {}
    unserved: dict[str, str] = {}
    for operator in declarations.operators:
        for overload in overloads_of(operator):
            info = f"k{operator.class_name}{len(infos)}"
            try:
                kernel = _kernels(info, operator, overload, torch_include)
                gradient = _gradient(overload)
            except UnservedError as error:
                unserved[overload.name] = f"{operator.name}: {error}"
                continue
            infos.append(_info(info, operator, overload))
            found.append(kernel)
            if gradient is not None:
                gradients[overload.name.removeprefix("aten::")] = gradient
    includes = sorted(
        {include for kernel in found for include in kernel.includes}
        | {f'"{gradient.header}"' for gradient in gradients.values()}
        | set(hooks.includes(declarations))
    )
    sources = {source for kernel in found for source in kernel.sources}
    sources |= {gradient.source for gradient in gradients.values()}
    registrations = [pair for kernel in found for pair in kernel.registrations]
    lines = [
        f"// Generated by {GENERATOR} from operators.json of InfiniOps {declarations.version}.",
        '#include "ops/operator_table.h"',
        "",
        *(f"#include {include}" for include in includes),
        "",
        "namespace torch_infini {",
        "namespace {",
        "",
        *infos,
        "",
        *(kernel.functions for kernel in found),
        "}  // namespace",
        "",
        *hooks.functions(declarations),
        "void RegisterOperators(torch::Library& library) {",
        *(
            f'  library.impl("{overload}", TORCH_FN({function}));'
            for overload, function in registrations
        ),
        *(f"  {kernel.at_registration}" for kernel in found if kernel.at_registration),
        "}",
        "",
        "void RegisterGradients([[maybe_unused]] torch::Library& library) {",
        *(
            f'  library.impl("{overload}", TORCH_FN(autograd::{gradient.function}));'
            for overload, gradient in gradients.items()
        ),
        "}",
        "",
        "std::vector<std::string> RegisteredOverloads() {",
        "  return {",
        *(f'      "aten::{overload}",' for overload, _ in registrations),
        "  };",
        "}",
        "",
        "std::map<std::string, std::string> UnservedOverloads() {",
        "  return {",
        *(f"      {{{_quoted(name)}, {_quoted(reason)}}}," for name, reason in unserved.items()),
        "  };",
        "}",
        "",
        "}  // namespace torch_infini",
        "",
    ]
    return Table(
        text="\n".join(lines),
        sources=tuple(sorted(sources)),
        overloads=tuple(f"aten::{overload}" for overload, _ in registrations),
        unserved=unserved,
    )


def _quoted(text: str) -> str:
    """Returns `text` as a string of C++."""
    return json.dumps(text, ensure_ascii=True)


def _gradient(overload: Overload) -> Gradient | None:
    """Returns the gradients that have to be registered with `overload`; None where torch has them.

    Raises:
        UnservedError: a kernel would take the place of PyTorch's composition, and its gradients
            would be lost.
    """
    if (gradient := GRADIENTS.get(overload.name)) is None and schemas.is_composed(overload.name):
        raise UnservedError(
            f"PyTorch composes it of other operators, so that a kernel would lose its gradients; "
            f"add them to csrc/autograd and to GRADIENTS in {GENERATOR}"
        )
    return gradient


def _info(name: str, operator: Operator, overload: Overload) -> str:
    mask = sum(1 << DATA_TYPES.index(dtype) for dtype in operator.dtypes)
    return (
        f'constexpr OperatorInfo {name}{{\n    "{operator.name}", "{overload.name}", {mask:#x}U}};'
    )


def _kernels(info: str, operator: Operator, overload: Overload, torch_include: Path) -> Kernels:
    schema = schemas.find(overload.name)
    if (adapter := ADAPTERS.get(overload.name)) is not None:
        return _adapted(info, schema, adapter)
    structured = schemas.find_structured(schema, torch_include)
    if structured is not None:
        return kernels.structured(info, operator, overload, structured)
    functional, out = schemas.forms(schema)
    return kernels.shaped(info, operator, overload, functional, out)


def _adapted(info: str, schema: Schema, adapter: Adapter) -> Kernels:
    function = kernels.camel(schema.key)
    parameters = ", ".join(parameter.cpp for parameter in schema.parameters)
    names = ", ".join(parameter.name for parameter in schema.parameters)
    text = (
        f"{adapter.result} {function}({parameters}) {{\n"
        f"  return adapters::{adapter.function}({info}, {names});\n"
        f"}}\n"
    )
    return Kernels(
        includes=(f'"{adapter.header}"', *adapter.includes),
        functions=text,
        registrations=((schema.key, function),),
        sources=adapter.sources,
        at_registration=adapter.at_registration,
    )
