"""Loading: source and weights become a module."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from linnet.check import CheckedProgram
from linnet.torch.module import Compile, LinnetModule
from linnet.torch.program import Program
from linnet.torch.source_program import read_program
from linnet.torch.weights import Weights, match_weights, read_headers, read_tensors

NUMERICS = ("exact", "equivalent", "fast")


def load(
    source: str | Path | CheckedProgram,
    *,
    generics: Mapping[str, Any] | None = None,
    root: str | None = None,
    weights: Weights | None = None,
    bindings: Mapping[str, str] | None = None,
    device: torch.device | str = "cpu",
    strict: bool = True,
    numerics: str = "fast",
    compile: Compile = None,
    trainable: bool = False,
    cast_dtype: bool = False,
    fixed_inputs: Mapping[str, bool | int | float] | None = None,
) -> LinnetModule:
    """Loads a model: checks `source`, compares `weights` with what it declares, maps them.

    `source`: the path of a `.linnet` file, its text, or a checked program. `generics`: values of
    the root block's generics. `root`: the root block; not needed where only one is public.
    `weights`: a `.safetensors` file, a folder or index of them, or tensors by name; None for a
    model without any. `bindings`: path -> name in the weights, where the two differ. `strict`
    refuses tensors that the model does not declare. `numerics`: `exact` (bodies as written),
    `equivalent` (library functions that round where the bodies do) or `fast`. `compile`: None or
    True for generated source, False for the interpreter, `reduce-overhead` for generated source in
    one CUDA graph for each combination of sizes, or the name of a `torch.compile` back end.
    `trainable`: parameters take gradients. `cast_dtype` converts weights of another floating dtype.
    `fixed_inputs`: numbers for scalar inputs of the entries, by name, such as an epsilon of the
    checkpoint; they are constants of the graphs, and calls need not give them.

    An optional parameter may have no weight; an optional child is there if all that it requires
    has. On the CPU a weight is the file's memory, mapped: it is read when it is used.

    Raises LinnetError if the source has errors, BindingError (a ValueError) for generics or a root
    that do not fit, WeightsError (a ValueError) with every problem of the weights before any is
    copied, OSError if the source cannot be read.
    """
    return load_program(
        read_program(source, root, generics, fixed_inputs),
        weights=weights,
        bindings=bindings,
        device=device,
        strict=strict,
        numerics=numerics,
        compile=compile,
        trainable=trainable,
        cast_dtype=cast_dtype,
    )


def load_program(
    program: Program,
    *,
    weights: Weights | None = None,
    bindings: Mapping[str, str] | None = None,
    unused: Collection[str] = (),
    device: torch.device | str = "cpu",
    strict: bool = True,
    numerics: str = "fast",
    compile: Compile = None,
    trainable: bool = False,
    cast_dtype: bool = False,
) -> LinnetModule:
    """`load` for a program that was read already; `unused` names tensors that the weights hold and
    the model is known not to need.
    """
    if numerics not in NUMERICS:
        raise ValueError(f"load: numerics must be one of {', '.join(NUMERICS)}, got {numerics!r}")
    place = usable_device(device)
    stored = read_headers({} if weights is None else weights)
    stored = {name: offer for name, offer in stored.items() if name not in unused}
    renamed = dict(bindings or {})
    names = set(stored)
    everything = program.declared(None)
    bound = frozenset(e.path for e in everything if renamed.get(e.path, e.path) in names)
    declared = program.declared(bound)
    matched = match_weights(
        declared, stored, bindings=renamed, strict=strict, cast_dtype=cast_dtype
    )
    dtypes = {entry.path: entry.dtype for entry in declared}
    with torch.inference_mode(False):
        tensors = read_tensors(matched, dtypes, place)
        return LinnetModule(
            program,
            tensors,
            device=device,
            numerics=numerics,
            compile=compile,
            trainable=trainable,
        )


def usable_device(device: torch.device | str) -> torch.device:
    """The device. ValueError for one that PyTorch does not know, or cannot use here."""
    try:
        found = torch.device(device)
    except RuntimeError as error:
        # PyTorch's own text lists the devices of every build there is, and none that packages add.
        here = torch.accelerator.current_accelerator(check_available=True)
        known = "cpu" if here is None else f"cpu, {here.type}"
        raise ValueError(
            f"load: there is no device {str(device)!r} here; there are: {known} "
            "(the package torch-infini brings infini)"
        ) from error
    try:
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:  # PyTorch asserts that it was built for CUDA
        reason = str(error).split("\n", 1)[0]
        raise ValueError(f"load: device {str(device)!r} cannot be used: {reason}") from error
    return found
