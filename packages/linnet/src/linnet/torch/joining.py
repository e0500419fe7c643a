"""Lays sibling weights side by side, so that one product reads them as one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

if TYPE_CHECKING:
    from linnet.torch.module import LinnetModule


#: Makes a tensor of a shape with the dtype and device of another one; None where it cannot.
MakeBuffer: TypeAlias = Callable[[Sequence[int], Tensor], "Tensor | None"]


def join_parameters(
    model: LinnetModule, paths: Sequence[str], make_buffer: MakeBuffer | None = None
) -> Tensor | None:
    """The parameters at `paths`, one after another along their first axis, as one tensor.

    A view where they lie so already. Otherwise they are laid out once: the parameters become
    views of one new buffer, and their old memory is free. None where that cannot be: weights that
    are trained, tied to another path, of different dtypes, devices or inner shapes, or named twice.
    KeyError for a path that has no tensor. `make_buffer` says where the new buffer lies.
    """
    tensors = [model.tensor(path) for path in paths]
    joined = adjacent(tensors)
    if joined is not None:
        return joined
    if not _can_move(model, tensors):
        return None
    first = tensors[0]
    shape = (sum(tensor.shape[0] for tensor in tensors), *first.shape[1:])
    with torch.no_grad():
        buffer = None if make_buffer is None else make_buffer(shape, first)
        if buffer is None:
            buffer = torch.empty(shape, dtype=first.dtype, device=first.device)
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


def _alike(tensors: Sequence[Tensor]) -> bool:
    kinds = {(t.dtype, t.device, t.shape[1:]) for t in tensors}
    return len(kinds) == 1 and all(t.dim() >= 1 for t in tensors)


def _can_move(model: LinnetModule, tensors: Sequence[Tensor]) -> bool:
    if len(tensors) < 2 or not _alike(tensors) or any(t.requires_grad for t in tensors):
        return False
    if not all(isinstance(tensor, torch.nn.Parameter) for tensor in tensors):
        return False
    own = [byte_range(tensor) for tensor in tensors]
    if any(following[0] < before[1] for before, following in pairwise(sorted(own))):
        return False
    # A weight that shares memory with another one must not be moved away from it.
    first, last = min(start for start, _ in own), max(stop for _, stop in own)
    moved = {id(tensor) for tensor in tensors}
    times = 0
    for other in _parameters(model):
        if id(other) in moved:
            times += 1
        elif first <= other.data_ptr() < last or other.data_ptr() < first:
            start, stop = byte_range(other)
            if any(start < end and begin < stop for begin, end in own):
                return False
    return times == len(tensors)


def _parameters(model: LinnetModule) -> Iterator[Tensor]:
    """Every parameter, as often as it is named; `named_parameters` takes long to make the names."""
    for module in model.modules():
        yield from (tensor for tensor in module._parameters.values() if tensor is not None)


def byte_range(tensor: Tensor) -> tuple[int, int]:
    """The addresses of a tensor's first byte, and past its last."""
    start = tensor.data_ptr()
    if tensor.numel() == 0:
        return start, start
    if tensor.is_contiguous():
        return start, start + tensor.nbytes
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (last + 1) * tensor.element_size()
