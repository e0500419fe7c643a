"""Lays sibling weights side by side, so that one product reads them as one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from linnet.torch.module import LinnetModule


def can_join(model: LinnetModule, paths: Sequence[str]) -> bool:
    """Whether `join_parameters` would give a tensor."""
    return adjacent(_tensors(model, paths)) is not None or _can_move(model, paths)


def join_parameters(model: LinnetModule, paths: Sequence[str]) -> Tensor | None:
    """The parameters at `paths`, one after another along their first axis, as one tensor.

    A view where they lie so already. Otherwise they are laid out once: the parameters become
    views of one new buffer, and their old memory is free. None where that cannot be: weights that
    are trained, tied to another path, of different dtypes, devices or inner shapes, or named twice.
    KeyError for a path that has no tensor.
    """
    tensors = _tensors(model, paths)
    joined = adjacent(tensors)
    if joined is not None:
        return joined
    if not _can_move(model, paths):
        return None
    first = tensors[0]
    rows = sum(tensor.shape[0] for tensor in tensors)
    with torch.no_grad():
        buffer = torch.empty((rows, *first.shape[1:]), dtype=first.dtype, device=first.device)
        start = 0
        for tensor in tensors:
            part = buffer[start : start + tensor.shape[0]]
            part.copy_(tensor)
            tensor.data = part
            start += part.shape[0]
    return buffer


def adjacent(tensors: Sequence[Tensor]) -> Tensor | None:
    """One tensor over all of them where they lie one after another, else None."""
    if not tensors or not _alike(tensors):
        return None
    first = tensors[0]
    position = first.data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != position:
            return None
        position += tensor.numel() * tensor.element_size()
    storage = first.untyped_storage()
    if any(t.untyped_storage().data_ptr() != storage.data_ptr() for t in tensors):
        return None
    rows = sum(tensor.shape[0] for tensor in tensors)
    shape = (rows, *first.shape[1:])
    strides = first.stride() if first.numel() else torch.empty(shape).stride()
    return torch.as_strided(first.detach(), shape, strides, first.storage_offset())


def _tensors(model: LinnetModule, paths: Sequence[str]) -> list[Tensor]:
    return [model.tensor(path) for path in paths]


def _alike(tensors: Sequence[Tensor]) -> bool:
    kinds = {(t.dtype, t.device, t.shape[1:]) for t in tensors}
    return len(kinds) == 1 and all(t.dim() >= 1 for t in tensors)


def _can_move(model: LinnetModule, paths: Sequence[str]) -> bool:
    tensors = _tensors(model, paths)
    if len(tensors) < 2 or not _alike(tensors) or any(t.requires_grad for t in tensors):
        return False
    if not all(isinstance(tensor, torch.nn.Parameter) for tensor in tensors):
        return False
    # A weight that shares memory with another one must not be moved away from it.
    ranges = sorted(
        (tensor.data_ptr(), tensor.data_ptr() + _extent(tensor))
        for _, tensor in model.named_parameters(remove_duplicate=False)
    )
    own = {(t.data_ptr(), t.data_ptr() + _extent(t)) for t in tensors}
    overlaps = [(a, b) for a, b in pairwise(ranges) if b[0] < a[1] and b[0] < b[1]]
    return len(own) == len(tensors) and not any(a in own or b in own for a, b in overlaps)


def _extent(tensor: Tensor) -> int:
    """Bytes from a tensor's first element to past its last."""
    if tensor.numel() == 0:
        return 0
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()
