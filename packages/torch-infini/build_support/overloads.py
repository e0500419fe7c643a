"""Which overloads an operator serves beyond those that operators.json names.

`KNOWN` holds what operators of these names serve where their declaration names no overload.
`SIBLINGS` holds overloads that PyTorch keeps beside another one and that mean the same call:
InfiniOps compares two tensors, and PyTorch has a comparison with a number as a separate operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from build_support.declarations import Operator, Overload


@dataclass(frozen=True)
class Sibling:
    """An overload, and which of its arguments have other names than those of the first."""

    name: str
    renamed: dict[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()  # arguments of the first that it does not have


_UNARY = {"input": "self", "out": "out"}
_BINARY = {"input": "self", "other": "other", "out": "out"}
_REDUCTION = {"input": "self", "dim": "dim", "keepdim": "keepdim", "out": "out"}
_ALONG = {"input": "self", "dim": "dim", "out": "out"}
_EXTREME = {"input": "self", "dim": "dim", "keepdim": "keepdim"}

# Operator: the overload, and what gives each of the operator's arguments.
KNOWN: dict[str, tuple[str, dict[str, str]]] = {
    **{
        name: (f"aten::{name}.out", _UNARY)
        for name in (
            *("abs", "bitwise_not", "cos", "erf", "exp", "log", "logical_not", "neg"),
            *("reciprocal", "rsqrt", "sigmoid", "silu", "sin", "sqrt", "tanh"),
        )
    },
    **{
        name: (f"aten::{name}.out", _BINARY)
        for name in (
            *("div", "floor_divide", "logical_and", "logical_or", "logical_xor"),
            *("maximum", "minimum"),
        )
    },
    **{
        name: (f"aten::{name}.Tensor_out", _BINARY)
        for name in (
            *("bitwise_and", "bitwise_or", "bitwise_xor", "remainder"),
            *("eq", "ne", "lt", "le", "gt", "ge"),
        )
    },
    **{
        name: (f"aten::{name}.out", _REDUCTION)
        for name in ("mean", "amax", "amin", "argmax", "argmin", "logsumexp")
    },
    "cat": ("aten::cat.out", {"tensors": "tensors", "dim": "dim", "out": "out"}),
    "clamp": ("aten::clamp.out", {"input": "self", "min": "min", "max": "max", "out": "out"}),
    "cumsum": ("aten::cumsum.out", _ALONG),
    "embedding": (
        "aten::embedding",
        {"input": "indices", "weight": "weight", "out": "result0"},
    ),
    "gather": ("aten::gather.out", {**_ALONG, "index": "index"}),
    "gelu": ("aten::gelu.out", {**_UNARY, "approximate": "approximate"}),
    "index_select": ("aten::index_select.out", {**_ALONG, "index": "index"}),
    "layer_norm": (
        "aten::native_layer_norm",
        {"input": "input", "weight": "weight", "bias": "bias", "eps": "eps", "out": "result0"},
    ),
    "log_softmax": ("aten::_log_softmax.out", _ALONG),
    "max": ("aten::max.dim_max", {**_EXTREME, "values": "max", "indices": "max_values"}),
    "min": ("aten::min.dim_min", {**_EXTREME, "values": "min", "indices": "min_indices"}),
    "pow": (
        "aten::pow.Tensor_Tensor_out",
        {"input": "self", "exponent": "exponent", "out": "out"},
    ),
    "relu": ("aten::relu", {"input": "self", "out": "result0"}),
    "scatter": ("aten::scatter.src_out", {**_ALONG, "index": "index", "src": "src"}),
    "softmax": ("aten::_softmax.out", _ALONG),
    "sub": ("aten::sub.out", {**_BINARY, "alpha": "alpha"}),
    "sum": ("aten::sum.IntList_out", _REDUCTION),
    "where": (
        "aten::where.self_out",
        {"condition": "condition", "input": "self", "other": "other", "out": "out"},
    ),
}

SIBLINGS = {
    **{
        f"aten::{comparison}.Tensor_out": (Sibling(f"aten::{comparison}.Scalar_out"),)
        for comparison in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "aten::pow.Tensor_Tensor_out": (Sibling("aten::pow.Tensor_Scalar_out"),),
    "aten::clamp.out": (
        Sibling("aten::clamp_min.out", absent=("max",)),
        Sibling("aten::clamp_max.out", absent=("min",)),
    ),
    # PyTorch composes these two of the others, which give statistics beside the result.
    "aten::native_layer_norm": (Sibling("aten::layer_norm"),),
    "aten::_fused_rms_norm": (Sibling("aten::rms_norm"),),
    "aten::maximum.out": (Sibling("aten::clamp_min.Tensor_out", {"other": "min"}),),
    "aten::minimum.out": (Sibling("aten::clamp_max.Tensor_out", {"other": "max"}),),
}


def overloads_of(operator: Operator) -> Iterator[Overload]:
    """Yields every overload that `operator` serves."""
    declared = operator.overloads
    if not declared and operator.name in KNOWN:
        declared = (Overload(*KNOWN[operator.name]),)
    names = {overload.name for overload in declared}
    for overload in declared:
        yield overload
        for sibling in SIBLINGS.get(overload.name, ()):
            if sibling.name not in names:
                yield Overload(
                    sibling.name,
                    {
                        ours: sibling.renamed.get(source, source)
                        for ours, source in overload.sources.items()
                        if source not in sibling.absent
                    },
                )
