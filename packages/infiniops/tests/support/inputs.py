"""Random inputs for an operator, as its sweep or its benchmark entry describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

Given = Any
"""A tensor, a list of tensors, or None for an optional input that is left out."""


def random_tensor(shape: list[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Values of every magnitude for floats, every bit pattern for integers."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(torch.bool)
    if not dtype.is_floating_point and not dtype.is_complex:
        size = torch.empty((), dtype=dtype).element_size()
        raw = torch.randint(0, 256, [*shape, size], generator=generator, dtype=torch.uint8)
        if dtype == torch.uint64 and raw.numel() > 0:
            raw[..., -1] &= 0x7F  # the oracle orders and divides them as int64
        return raw.view(dtype).reshape(shape)
    if dtype.is_complex:
        part = torch.randn([*shape, 2], generator=generator, dtype=torch.float64)
        return torch.view_as_complex(part).to(dtype)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def fill(
    kind: str,
    shape: list[int],
    dtype: torch.dtype,
    generator: torch.Generator,
    known: Mapping[str, Given],
    attributes: Mapping[str, Any],
) -> torch.Tensor:
    """One tensor, filled as `kind` says; `known` are the inputs before it."""
    word, *rest = kind.split()
    if word == "index":
        source = known[rest[0]]
        dim = attributes[rest[1]] if rest[1] in attributes else int(rest[1])
        size = 1 if source.ndim == 0 else source.shape[dim]
        return torch.randint(0, max(size, 1), shape, generator=generator).to(dtype)
    tensor = random_tensor(shape, dtype, generator)
    if dtype == torch.bool or word == "normal":
        return tensor
    if word == "small":
        if dtype.is_floating_point or dtype.is_complex:
            return tensor
        least = 0 if dtype in UNSIGNED else -4
        return torch.randint(least, 5, shape, generator=generator).to(dtype)
    if word == "positive":
        return tensor.abs() if dtype.is_floating_point else tensor
    if word == "nonzero":
        return torch.where(tensor == 0, torch.ones_like(tensor), tensor)
    raise ValueError(f"`{kind}` is no way to fill a tensor")


UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)


def spelled(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes as torch takes them: names of dtypes become dtypes."""
    return {
        name: getattr(torch, value)
        if isinstance(value, str) and isinstance(getattr(torch, value, None), torch.dtype)
        else value
        for name, value in attributes.items()
    }


def dtypes_of_inputs(
    records: tuple[dict[str, Any], ...], main: str, dtype: str, turn: int
) -> dict[str, torch.dtype]:
    """The dtype of each input when the main one has `dtype`; others take turns through theirs."""
    chosen: dict[str, torch.dtype] = {}
    for record in records:
        name = record["name"]
        if name == main:
            chosen[name] = getattr(torch, dtype)
        elif record["like"] is not None:
            chosen[name] = chosen[record["like"]]
        else:
            chosen[name] = getattr(torch, record["dtypes"][turn % len(record["dtypes"])])
    return chosen


def random_inputs(
    records: tuple[dict[str, Any], ...],
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, torch.dtype],
    attributes: Mapping[str, Any],
    generator: torch.Generator,
) -> dict[str, Given]:
    """Every input of one case."""
    made: dict[str, Given] = {}
    for record in records:
        name = record["name"]
        if name not in shapes:
            made[name] = None
        elif record["list"]:
            made[name] = [random_tensor(one, dtypes[name], generator) for one in shapes[name]]
        else:
            made[name] = fill(
                record["values"], shapes[name], dtypes[name], generator, made, attributes
            )
    return made
