"""Loading: source and weights become a module."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from linnet.torch.module import Compile, LinnetModule
from linnet.torch.program import Program
from linnet.torch.weights import Weights, match_weights, read_headers, read_tensors

NUMERICS = ("exact", "equivalent", "fast")


def load_program(
    program: Program,
    *,
    weights: Weights | None = None,
    bindings: Mapping[str, str] | None = None,
    device: torch.device | str = "cpu",
    strict: bool = True,
    numerics: str = "fast",
    compile: Compile = None,
    trainable: bool = False,
    cast_dtype: bool = False,
) -> LinnetModule:
    """`load` for a program that was read already."""
    if numerics not in NUMERICS:
        raise ValueError(f"load: numerics must be one of {', '.join(NUMERICS)}, got {numerics!r}")
    stored = read_headers({} if weights is None else weights)
    renamed = dict(bindings or {})
    names = set(stored)
    everything = program.declared(None)
    bound = frozenset(e.path for e in everything if renamed.get(e.path, e.path) in names)
    declared = program.declared(bound)
    matched = match_weights(
        declared, stored, bindings=renamed, strict=strict, cast_dtype=cast_dtype
    )
    dtypes = {entry.path: entry.dtype for entry in declared}
    tensors = read_tensors(matched, dtypes, torch.device(device))
    return LinnetModule(
        program, tensors, device=device, numerics=numerics, compile=compile, trainable=trainable
    )
