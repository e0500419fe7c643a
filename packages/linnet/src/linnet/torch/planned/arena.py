"""One buffer for the values of a captured step; values that are not alive together share memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

#: Bytes that every value is aligned to: a cache line, and the widest vector load.
ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A value with the positions between which it is alive, both inclusive."""

    number: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    first: int
    last: int

    @property
    def size(self) -> int:
        """Bytes, rounded up to the alignment."""
        count = prod(self.shape) * self.dtype.itemsize
        return -(-count // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Arena:
    """The buffer and the tensors in it, by value number."""

    buffer: Tensor
    tensors: dict[int, Tensor]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.buffer.numel()


def place_values(lifetimes: Sequence[Lifetime]) -> tuple[dict[int, int], int]:
    """Offsets by value number, and the bytes that they need together.

    The largest values are placed first, each at the lowest offset that no value which is alive at
    the same time occupies.
    """
    offsets: dict[int, int] = {}
    placed: list[Lifetime] = []
    for value in sorted(lifetimes, key=lambda v: (-v.size, v.first, v.number)):
        others = sorted(
            (offsets[other.number], offsets[other.number] + other.size)
            for other in placed
            if other.first <= value.last and value.first <= other.last
        )
        offset = 0
        for start, stop in others:
            if offset + value.size <= start:
                break
            offset = max(offset, stop)
        offsets[value.number] = offset
        placed.append(value)
    return offsets, max((offsets[v.number] + v.size for v in lifetimes), default=0)


def make_arena(lifetimes: Sequence[Lifetime], device: torch.device) -> Arena:
    """Allocates the buffer and makes a contiguous tensor in it for each value."""
    offsets, size = place_values(lifetimes)
    buffer = torch.zeros(size + ALIGNMENT, dtype=torch.uint8, device=device)
    start = -buffer.data_ptr() % ALIGNMENT
    buffer = buffer[start : start + size]
    tensors = {}
    for value in lifetimes:
        count = prod(value.shape) * value.dtype.itemsize
        part = buffer[offsets[value.number] : offsets[value.number] + count]
        tensors[value.number] = part.view(value.dtype).view(value.shape)
    return Arena(buffer, tensors)
