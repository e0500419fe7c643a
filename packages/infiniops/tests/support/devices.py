"""Tensors on other devices than the CPU."""

from __future__ import annotations

from typing import Any

import torch

import infini.ops


def moved(value: Any, device: str) -> Any:
    """A copy on `device` of a torch tensor, or of each of a list."""
    if isinstance(value, list):
        return [moved(one, device) for one in value]
    dtype = str(value.dtype).removeprefix("torch.")
    there = infini.ops.empty(list(value.shape), dtype=dtype, device=device)
    there.copy_from(value)
    return there


def fetched(tensor: Any) -> Any:
    """A tensor of InfiniOps as a torch tensor on the CPU."""
    return torch.from_dlpack(tensor.to_cpu())


def bits(tensor: Any) -> bytes:
    """The elements of a torch tensor, byte for byte."""
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
