"""Weights from SafeTensors files: found, compared with what the model declares, and mapped.

A tensor's bytes stay in the file until they are read, so loading costs no copy on the CPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from linnet.torch.dtypes import FLOATS, LINNET_DTYPES, dense_problem, describe, torch_dtype

INDEX = "model.safetensors.index.json"
#: SafeTensors' names of element types -> Linnet's.
FILE_DTYPES = {
    "BOOL": "bool",
    "I8": "i8",
    "I16": "i16",
    "I32": "i32",
    "I64": "i64",
    "U8": "u8",
    "U16": "u16",
    "U32": "u32",
    "U64": "u64",
    "F16": "f16",
    "BF16": "bf16",
    "F32": "f32",
    "F64": "f64",
}
#: A file, a folder or an index of files, or tensors by name.
Weights: TypeAlias = "str | Path | Mapping[str, Tensor]"


class WeightsError(ValueError):
    """Weights that cannot be loaded; the text lists every problem."""


@dataclass(frozen=True)
class Declared:
    """A parameter, buffer or state that the model declares, by its path from the root.

    `optional` is true where the weights may lack it: an optional parameter, or one of an optional
    child.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    optional: bool = False


@dataclass(frozen=True)
class Stored:
    """A tensor that weights offer; `file` is None for one that is in memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: Path | None = None
    tensor: Tensor | None = None


def read_headers(weights: Weights) -> dict[str, Stored]:
    """What `weights` offers, without its contents. WeightsError for what is no set of weights."""
    if isinstance(weights, Mapping):
        return {name: _in_memory(name, tensor) for name, tensor in weights.items()}
    if not isinstance(weights, (str, Path)):
        raise WeightsError(
            "weights: expected the path of a file or folder, or tensors by name, got "
            f"{type(weights).__name__}"
        )
    path = Path(weights)
    found: dict[str, Stored] = {}
    for file, expected in _files(path):
        header = _header(file)
        for name in expected if expected is not None else header:
            if name not in header:
                raise WeightsError(f"{path}: names the tensor {name!r} in {file.name}, without it")
            if name in found:
                raise WeightsError(
                    f"{file}: holds the tensor {name!r}, which {found[name].file} holds too"
                )
            found[name] = header[name]
    return found


def _files(path: Path) -> list[tuple[Path, list[str] | None]]:
    """The files behind `path`, each with the names to take from it (None: all)."""
    if path.is_dir():
        if (path / INDEX).is_file():
            return _indexed(path / INDEX)
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise WeightsError(f"{path}: has neither {INDEX} nor a .safetensors file")
        return [(file, None) for file in files]
    if not path.exists():
        raise WeightsError(f"{path}: there is no such file or folder")
    return _indexed(path) if path.suffix == ".json" else [(path, None)]


def _indexed(index: Path) -> list[tuple[Path, list[str] | None]]:
    try:
        document: Any = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{index}: cannot be read as an index: {error}") from error
    places = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(places, dict) or not all(isinstance(v, str) for v in places.values()):
        raise WeightsError(f"{index}: has no `weight_map` from tensor names to file names")
    names: dict[str, list[str]] = {}
    for name, file in places.items():
        if Path(file).name != file:
            raise WeightsError(f"{index}: names the file {file!r}, which is not beside it")
        names.setdefault(file, []).append(name)
    return [(index.parent / file, sorted(names[file])) for file in sorted(names)]


def _header(file: Path) -> dict[str, Stored]:
    found = {}
    try:
        with safe_open(file, framework="pt") as opened:
            for name in sorted(opened.keys()):
                part = opened.get_slice(name)
                dtype = FILE_DTYPES.get(part.get_dtype(), part.get_dtype())
                found[name] = Stored(name, tuple(part.get_shape()), dtype, file)
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise WeightsError(f"{file}: is no readable SafeTensors file: {error}") from error
    return found


def _in_memory(name: str, tensor: Tensor) -> Stored:
    if not isinstance(tensor, Tensor):
        raise WeightsError(f"weights: {name}: expected a tensor, got {type(tensor).__name__}")
    problem = dense_problem(tensor)
    if problem is not None:
        raise WeightsError(f"weights: {name}: expected a dense tensor, {problem}")
    dtype = LINNET_DTYPES.get(tensor.dtype, str(tensor.dtype))
    return Stored(name, tuple(tensor.shape), dtype, tensor=tensor)


def match_weights(
    declared: Iterable[Declared],
    stored: Mapping[str, Stored],
    *,
    bindings: Mapping[str, str],
    strict: bool,
    cast_dtype: bool,
) -> dict[str, Stored]:
    """Path -> stored tensor, for every declared parameter and buffer that has one.

    `bindings` maps paths to names in the weights; other paths are names themselves. Raises
    WeightsError with every problem: missing, unexpected (under `strict`), shape, dtype.
    """
    found: dict[str, Stored] = {}
    problems: list[str] = []
    wanted = [entry for entry in declared if entry.kind != "state"]
    known = {entry.path for entry in wanted}
    problems += [f"bindings: the model has no {path}" for path in bindings if path not in known]
    for entry in wanted:
        name = bindings.get(entry.path, entry.path)
        offer = stored.get(name)
        expected = describe(entry.shape, entry.dtype)
        if offer is None:
            if not entry.optional or entry.path in bindings:
                named = "" if name == entry.path else f" (as {name!r})"
                problems.append(f"missing: {entry.path}{named}, {expected}")
            continue
        offered = describe(offer.shape, offer.dtype)
        if offer.shape != entry.shape:
            problems.append(f"shape: {entry.path}: expected {expected}, got {offered}")
        elif offer.dtype != entry.dtype and not (
            cast_dtype and {offer.dtype, entry.dtype} <= FLOATS
        ):
            hint = "; cast_dtype=True converts" if {offer.dtype, entry.dtype} <= FLOATS else ""
            problems.append(f"dtype: {entry.path}: expected {expected}, got {offered}{hint}")
        found[entry.path] = offer
    if strict:
        used = {bindings.get(path, path) for path in known}
        problems += [f"unexpected: {name}" for name in sorted(set(stored) - used)]
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise WeightsError(f"weights do not fit the model, {count}:\n  " + "\n  ".join(problems))
    return found


def read_tensors(
    matched: Mapping[str, Stored], dtypes: Mapping[str, str], device: torch.device
) -> dict[str, Tensor]:
    """Path -> tensor on `device`, in the declared dtype. On the CPU a tensor of the right dtype is
    the file's own memory, mapped privately.
    """
    by_file: dict[Path, list[str]] = {}
    tensors: dict[str, Tensor] = {}
    for path, offer in matched.items():
        if offer.file is not None:
            by_file.setdefault(offer.file, []).append(path)
        elif offer.tensor is not None:
            tensor = offer.tensor.detach().resolve_neg().resolve_conj()
            # Of a tensor of inference mode PyTorch counts no writes, which would go unseen.
            tensor = tensor.clone() if tensor.is_inference() else tensor
            tensors[path] = tensor.to(device, torch_dtype(dtypes[path]))
    for file, paths in by_file.items():
        try:
            with safe_open(file, framework="pt") as opened:
                for path in paths:
                    tensor = opened.get_tensor(matched[path].name)
                    tensors[path] = tensor.to(device, torch_dtype(dtypes[path]))
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{file}: cannot be read: {error}") from error
    return tensors
