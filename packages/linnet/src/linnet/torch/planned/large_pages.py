"""Lays the weights that a plan reads in place out in large pages.

A step of a decoder reads every weight once. In pages of 4 KiB, as files are mapped and as
allocators give them, half of that time goes to finding the pages, and the processor fetches ahead
no further than a page.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from linnet.torch.joining import byte_range
from linnet.torch.module import LinnetModule

#: Where the memory begins that weights of a model were moved to.
_memories: WeakKeyDictionary[LinnetModule, set[int]] = WeakKeyDictionary()

#: Weights of fewer bytes in all stay where they are: caches hold much of them.
LEAST_BYTES = 8 << 20
#: Bytes of a large page.
PAGE = 2 << 20
#: What kernels may take the first byte of a weight to be aligned to.
ALIGNMENT = 64


class LargePages:
    """Memory in large pages for weights of a model, handed out from its start to its end."""

    def __init__(self, memory: Tensor) -> None:
        self._memory = memory
        self._used = 0

    @classmethod
    def for_weights(cls, model: LinnetModule, paths: Iterable[str]) -> LargePages | None:
        """Memory for the tensors at `paths` that are not in large pages yet; None where they are
        few bytes, or the system gives no such pages. It takes memory as it is written.
        """
        tensors = {id(tensor): tensor for tensor in map(model.tensor, paths)}.values()
        size = sum(
            tensor.nbytes + 2 * ALIGNMENT
            for tensor in tensors
            if tensor.device.type == "cpu" and not is_in_large_pages(model, tensor)
        )
        memory = _reserve(size) if size >= LEAST_BYTES else None
        if memory is None:
            return None
        _memories.setdefault(model, set()).add(memory.untyped_storage().data_ptr())
        return cls(memory)

    def take(self, size: int, alignment: int = ALIGNMENT) -> Tensor | None:
        """The next `size` bytes that are aligned so; None where so many are not left."""
        begin = self._used + -self._used % alignment
        if begin + size > self._memory.numel():
            return None
        self._used = begin + size
        return self._memory[begin : begin + size]

    def take_as(self, shape: Sequence[int], like: Tensor) -> Tensor | None:
        """The next bytes as a tensor of this shape with the dtype of `like`, for one on the CPU."""
        if like.device.type != "cpu":
            return None
        found = self.take(prod(shape) * like.element_size())
        return None if found is None else found.view(like.dtype).view(*shape)

    def move(self, model: LinnetModule, paths: Iterable[str]) -> bool:
        """Moves the tensors at `paths` here, and says whether there were any to move.

        Parameters and buffers stay the same objects, with new memory; neighbours stay neighbours.
        What is trained, not contiguous, or shares a part of its memory with another tensor of the
        model stays where it is.
        """
        wanted = {id(tensor) for tensor in map(model.tensor, paths)}
        moved, last = False, -1
        with torch.no_grad():
            for place in _places(model):
                first = place.tensors[0]
                if (
                    not place.movable
                    or not any(id(tensor) in wanted for tensor in place.tensors)
                    or is_in_large_pages(model, first)
                ):
                    continue
                follows = place.start == last
                found = self.take(first.nbytes, first.element_size() if follows else ALIGNMENT)
                if found is None:
                    break
                last = place.stop
                part = found.view(first.dtype).view(first.shape)
                part.copy_(first)
                for tensor in place.tensors:
                    tensor.data = part
                moved = True
        return moved


def is_in_large_pages(model: LinnetModule, tensor: Tensor) -> bool:
    """Whether a tensor of the model was laid out so, and is still there."""
    return tensor.untyped_storage().data_ptr() in _memories.get(model, ())


@dataclass
class _Place:
    """Bytes that one tensor has, or several that are the same in all but name."""

    start: int
    stop: int
    tensors: list[Tensor]
    movable: bool

    def is_same_as(self, tensor: Tensor) -> bool:
        first = self.tensors[0]
        return (
            tensor.data_ptr() == self.start
            and tensor.dtype == first.dtype
            and tensor.shape == first.shape
        )


def _places(model: LinnetModule) -> list[_Place]:
    """Where the model's tensors lie, by address."""
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    found: list[_Place] = []
    for tensor in sorted(tensors.values(), key=Tensor.data_ptr):
        start, stop = byte_range(tensor)
        plain = tensor.device.type == "cpu" and tensor.is_contiguous() and tensor.numel() > 0
        movable = plain and not tensor.requires_grad and not tensor.is_inference()
        if found and found[-1].is_same_as(tensor):
            found[-1].tensors.append(tensor)
            found[-1].movable &= movable
        elif found and start < found[-1].stop:
            found[-1].movable = False
            found[-1].stop = max(found[-1].stop, stop)
        else:
            found.append(_Place(start, stop, [tensor], movable))
    return found


def _reserve(size: int) -> Tensor | None:
    """Bytes in large pages, which take memory once they are written; None without such pages."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None:
        return None
    try:
        mapped = mmap.mmap(-1, size + PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mapped.madvise(advice)
    except OSError:
        return None
    memory = torch.frombuffer(mapped, dtype=torch.uint8)
    start = -memory.data_ptr() % PAGE
    return memory[start : start + size]
