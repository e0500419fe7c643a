"""A small decoder whose step InfiniOps' back end runs whole."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import infini.ops
from infini.linnet import InfiniOps
from infini.linnet.table import read_operators
from linnet.models.checkpoint import family_source
from linnet.torch import LinnetModule, load, read_program
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned import Captured

SOURCE = family_source("llama")
SIZES = {
    "Vocab": 50,
    "H": 32,
    "Inner": 64,
    "Layers": 2,
    "Heads": 4,
    "KeyHeads": 2,
    "D": 8,
    "Batch": 2,
    "Context": 80,
}
OPERATORS = read_operators(infini.ops.operators_json())
#: What a step of this decoder runs, beside norms, products and sums.
NEEDED = {
    "add_rms_norm",
    "apply_rotary_pos_emb",
    "cast",
    "cos",
    "embedding",
    "flash_attn_with_kvcache",
    "silu_and_mul",
    "sin",
}
needs_operators = pytest.mark.skipif(
    not set(OPERATORS) >= NEEDED, reason="this build of InfiniOps was made for other operators"
)


def decoder(dtype: str, **options: Any) -> LinnetModule:
    generics = {**SIZES, "T": dtype}
    generator = torch.Generator().manual_seed(0)
    weights = {
        entry.path: (torch.randn(entry.shape, generator=generator) / 5).to(torch_dtype(dtype))
        for entry in read_program(SOURCE, generics=generics).declared(None)
        if entry.kind != "state" and not entry.optional
    }
    return load(SOURCE, generics=generics, weights=weights, **options)


def given(position: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(position)
    tokens = torch.randint(0, SIZES["Vocab"], (2, 1), generator=generator)
    return [tokens, torch.tensor([position, position])]


def captured(model: LinnetModule, device: str = "cpu") -> Captured:
    inputs = [one.to(device) for one in given(0)]
    plan = model.plan_for("decode", inputs, backends=[InfiniOps()], measure=False)
    return Captured(plan, model.context_for(plan))
