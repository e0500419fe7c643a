"""Linnet's element types and PyTorch's."""

from __future__ import annotations

import torch

TORCH_DTYPES: dict[str, torch.dtype] = {
    "bool": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
LINNET_DTYPES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
#: Types that PyTorch stores but hardly computes with; `linnet.torch.operations` does.
WIDE_UNSIGNED = frozenset(("u16", "u32", "u64"))


def torch_dtype(name: str) -> torch.dtype:
    """PyTorch's dtype for a Linnet name; KeyError for a name that is none."""
    return TORCH_DTYPES[name]


def describe(shape: tuple[int, ...], dtype: str) -> str:
    """`f32[2, 3]` for a tensor, `i64` for a scalar."""
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else dtype


def dense_problem(tensor: torch.Tensor) -> str | None:
    """Why kernels cannot read the memory of a tensor; None where they can."""
    if tensor.is_meta:
        return "got a meta tensor, which has no contents"
    if tensor.layout != torch.strided or tensor.is_quantized:
        kind = "quantized" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
        return f"got a tensor of layout {kind}; convert it with .to_dense() or .dequantize()"
    return None


def describe_tensor(tensor: torch.Tensor) -> str:
    """`f32[2, 3]` in Linnet's words; PyTorch's name for a dtype that Linnet has not."""
    name = LINNET_DTYPES.get(tensor.dtype, str(tensor.dtype))
    return describe(tuple(tensor.shape), name)
