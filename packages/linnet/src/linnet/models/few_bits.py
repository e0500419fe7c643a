"""Loads a checkpoint of the Llama family with weights of few bits, rounded when it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linnet.models.checkpoint import DEFAULT_CONTEXT, Checkpoint, CheckpointError, family_source

if TYPE_CHECKING:
    import torch

    from linnet.torch import LinnetModule


def load_few_bits(
    checkpoint: Checkpoint,
    bits: int,
    *,
    group: int = 32,
    batch: int = 1,
    context: int | None = None,
    dtype: str = "bf16",
) -> LinnetModule:
    """`checkpoint` as `models/quantized_llama.linnet`, on the CPU.

    `bits` is 8 (a scale for each row) or 4 (a scale and a zero for each `group` of inputs). The
    output head has 8-bit rows in both. Each number is rounded to the nearest; `dtype` is that of
    all else. `batch` and `context` are those of `Checkpoint.load`.

    Raises CheckpointError for another family, ValueError for other bits or a group that does not
    divide the sizes of the layers.
    """
    from safetensors import safe_open

    from linnet.check.types import short_dtype
    from linnet.torch import load, read_program
    from linnet.torch.dtypes import torch_dtype

    dtype = short_dtype(dtype)
    if checkpoint.family != "llama":
        raise CheckpointError(
            f"{checkpoint.weights}: expected a model of the family llama, got {checkpoint.family}"
        )
    if bits not in (4, 8):
        raise ValueError(f"load_few_bits: bits must be 4 or 8, got {bits}")
    sizes = {name: checkpoint.generics[name] for name in ("H", "Inner")}
    odd = [name for name, size in sizes.items() if group < 2 or group % 2 or size % group]
    if bits == 4 and odd:
        raise ValueError(
            f"load_few_bits: group must be even and divide {odd[0]} = {sizes[odd[0]]}, got {group}"
        )
    if checkpoint.bindings or not checkpoint.weights.is_file():
        raise CheckpointError(
            f"{checkpoint.weights}: expected one file with Linnet's names, as a converted GGUF file"
        )
    positions = min(checkpoint.positions, DEFAULT_CONTEXT) if context is None else context
    if not 0 < positions <= checkpoint.positions:
        raise CheckpointError(
            f"{checkpoint.weights}: the model was made for at most {checkpoint.positions} "
            f"positions, got a context of {positions}"
        )
    generics: dict[str, Any] = {
        **checkpoint.generics,
        "Bytes": bits // 8,
        "Group": group if bits == 4 else 2,
        "Batch": batch,
        "Context": positions,
        "T": dtype,
    }
    source = family_source("quantized_llama")
    fixed = dict(checkpoint.fixed_inputs)
    weights: dict[str, torch.Tensor] = {}
    with safe_open(checkpoint.weights, "pt") as file:
        names = set(file.keys())
        for one in read_program(source, None, generics, fixed).declared(None):
            if one.kind == "state" or one.optional or not one.path.endswith(".weight"):
                continue
            stem = one.path.removesuffix(".weight")
            stored = stem.removesuffix(".rows.0").removesuffix(".groups.0") + ".weight"
            if stored == "lm_head.weight" and stored not in names:
                stored = "model.embed_tokens.weight"  # a tied head
            tensor = file.get_tensor(stored)
            if one.dtype == "i8":
                weights[one.path], weights[f"{stem}.scale"] = rounded_rows(tensor)
            elif one.dtype == "u8":
                packed, scale, zero = rounded_groups(tensor, group)
                weights[one.path] = packed
                weights[f"{stem}.scale"], weights[f"{stem}.zero"] = scale, zero
            else:
                weights[one.path] = tensor.to(torch_dtype(one.dtype))
    return load(source, generics=generics, fixed_inputs=fixed, weights=weights)


def rounded_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows [Out, In] as i8 [Out, In] and their scales f32 [Out]; a row of zeros has the scale 1."""
    import torch

    wide = weight.float()
    scale = wide.abs().amax(1) / 127
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return (wide / scale[:, None]).round().to(torch.int8), scale


def rounded_groups(
    weight: torch.Tensor, group: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows [Out, In] as pairs of 4-bit numbers u8 [Out, In / group, group / 2], with the scales and
    zeros f32 [Out, In / group] of the groups. Number q stands for (q - zero) * scale.
    """
    import torch

    rows = weight.shape[0]
    wide = weight.float().reshape(rows, -1, group)
    low, high = wide.aminmax(dim=2)
    scale = (high - low) / 15
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    zero = -low / scale
    digits = (wide / scale[..., None] + zero[..., None]).round().clamp(0, 15).to(torch.uint8)
    pairs = digits.view(rows, -1, group // 2, 2)
    return pairs[..., 0] | pairs[..., 1] << 4, scale, zero
