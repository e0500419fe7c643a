"""A small decoder of the Llama family with caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from linnet.torch import LinnetModule, load, read_program
from linnet.torch.dtypes import torch_dtype

SOURCE = Path(__file__).parents[2] / "examples" / "llama.linnet"
SIZES = {
    "Vocab": 50,
    "H": 32,
    "Inner": 64,
    "Layers": 2,
    "Heads": 4,
    "KeyHeads": 2,
    "Batch": 2,
}


def decoder(dtype: str = "f32", context: int = 16, width: int = 8, **options: Any) -> LinnetModule:
    """Two layers with random weights, two rows, heads of `width`."""
    generics = {**SIZES, "Context": context, "D": width, "T": dtype}
    generator = torch.Generator().manual_seed(0)
    weights = {
        entry.path: (torch.randn(entry.shape, generator=generator) / 5).to(torch_dtype(dtype))
        for entry in read_program(SOURCE, generics=generics).declared(None)
        if entry.kind != "state" and not entry.optional
    }
    return load(SOURCE, generics=generics, weights=weights, **options)


def tokens(seed: int, count: int) -> Tensor:
    """`count` tokens for each row."""
    return torch.randint(0, 50, (2, count), generator=torch.Generator().manual_seed(seed))


def at(position: int) -> Tensor:
    """The same position in each row."""
    return torch.full((2,), position)
