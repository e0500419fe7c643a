"""Inputs of an entry: Python values as callers give them, described, checked and flattened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from linnet.graph import Graph
from linnet.graph.model import Tree
from linnet.torch.dtypes import (
    FLOATS,
    LINNET_DTYPES,
    dense_problem,
    describe,
    describe_tensor,
    torch_dtype,
)


@dataclass(frozen=True)
class PlainNumber:
    """A Python number as an input: the entry decides its dtype."""


#: `(shape, dtype)` of a tensor; None for an absent optional; a tuple or mapping of descriptions
#: for tuples and structs.
Description: TypeAlias = Any


def name_inputs(entry: str, names: Sequence[str], inputs: Any) -> dict[str, Any]:
    """The inputs, a list or a mapping, by name. TypeError for missing or unknown ones."""
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in names]
        if unknown:
            raise TypeError(
                f"entry {entry}: there is no input {unknown[0]!r}; it takes: {', '.join(names)}"
            )
        return dict(inputs)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(
            f"entry {entry}: inputs must be a list or a mapping by name, got "
            f"{type(inputs).__name__}"
        )
    if len(inputs) > len(names):
        raise TypeError(f"entry {entry}: takes {_inputs(len(names))}, got {len(inputs)}")
    return dict(zip(names, inputs, strict=False))


def describe_input(entry: str, name: str, value: Any) -> Description:
    """The description of one input. TypeError for what is no tensor, number, tuple or struct."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        problem = dense_problem(value)
        if problem is not None:
            raise TypeError(f"entry {entry}: input {name}: expected a dense tensor, {problem}")
        if value.dtype not in LINNET_DTYPES:
            raise TypeError(f"entry {entry}: input {name}: Linnet has no dtype {value.dtype}")
        return tuple(value.shape), LINNET_DTYPES[value.dtype]
    if isinstance(value, (bool, int, float)):
        return PlainNumber()
    if isinstance(value, Mapping):
        return {k: describe_input(entry, f"{name}.{k}", part) for k, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(describe_input(entry, f"{name}.{k}", v) for k, v in enumerate(value))
    raise TypeError(
        f"entry {entry}: input {name}: expected a tensor, a number, a tuple or a mapping, got "
        f"{type(value).__name__}"
    )


def flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """`(flat name, tensor or number)` for each part; absent optionals give nothing."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flatten(f"{name}.{key}", part)
    elif isinstance(value, (tuple, list)):
        for position, part in enumerate(value):
            yield from flatten(f"{name}.{position}", part)
    else:
        yield name, value


def bind(graph: Graph, named: Mapping[str, Any], device: torch.device) -> list[Tensor]:
    """The tensors for `graph.inputs`, in order. Raises TypeError or ValueError that names the
    input, what was expected and what was given.
    """
    given = {flat: leaf for name, value in named.items() for flat, leaf in flatten(name, value)}
    expected = {item.name for item in graph.inputs}
    extra = [name for name in given if name not in expected]
    if extra:
        raise TypeError(f"entry {graph.entry}: there is no input {extra[0]!r} at this binding")
    missing = [item.name for item in graph.inputs if item.name not in given]
    if missing:
        raise TypeError(f"entry {graph.entry}: input {missing[0]!r} is missing")
    return [_bind_one(graph, i.name, i.value, given[i.name], device) for i in graph.inputs]


def _bind_one(graph: Graph, name: str, number: int, leaf: Any, device: torch.device) -> Tensor:
    value = graph.values[number]
    wanted = describe(value.shape, value.dtype)
    where = f"entry {graph.entry}: input {name}"
    if not isinstance(leaf, Tensor):
        if not isinstance(leaf, (bool, int, float)):
            raise TypeError(f"{where}: expected {wanted}, got {type(leaf).__name__}")
        if value.shape != ():
            raise ValueError(f"{where}: expected {wanted}, got the number {leaf!r}")
        _check_number(where, wanted, value.dtype, leaf)
        return torch.tensor(leaf, dtype=torch_dtype(value.dtype), device=device)
    got = describe_tensor(leaf)
    if tuple(leaf.shape) != value.shape:
        raise ValueError(f"{where}: expected {wanted}, got {got}")
    if leaf.dtype != torch_dtype(value.dtype):
        raise TypeError(
            f"{where}: expected {wanted}, got {got}; convert it with "
            f".to({torch_dtype(value.dtype)})"
        )
    if not same_device(leaf.device, device):
        raise ValueError(
            f"{where}: the model is on {device}, the tensor on {leaf.device}; move it with "
            f'.to("{device}")'
        )
    problem = dense_problem(leaf)
    if problem is not None:
        raise TypeError(f"{where}: expected {wanted}, {problem}")
    # Kernels read the memory, where a negative or conjugate view differs from its values.
    return leaf.resolve_neg().resolve_conj()


def check_variants(graph: Graph, tensors: Sequence[Tensor], variants: Mapping[str, int]) -> None:
    """IndexError for an enum's input that is the position of no variant. An input on a device is
    not read back for that.
    """
    for item, tensor in zip(graph.inputs, tensors, strict=True):
        count = variants.get(item.name)
        if count is not None and tensor.device.type == "cpu" and not 0 <= int(tensor) < count:
            raise IndexError(
                f"entry {graph.entry}: input {item.name}: expected the position of a variant, 0 to "
                f"{count - 1}, got {int(tensor)}"
            )


def same_device(one: torch.device, other: torch.device) -> bool:
    """Whether two devices are one; a device without a number is the first of its kind."""
    numbers: list[int | None] = [one.index, other.index]
    return one.type == other.type and len({number or 0 for number in numbers}) == 1


def _check_number(where: str, wanted: str, dtype: str, leaf: Any) -> None:
    if dtype == "bool":
        fits = isinstance(leaf, bool)
    elif dtype in FLOATS:
        fits = isinstance(leaf, (int, float)) and not isinstance(leaf, bool)
    else:
        info = torch.iinfo(torch_dtype(dtype))
        fits = isinstance(leaf, int) and not isinstance(leaf, bool)
        if fits and not info.min <= leaf <= info.max:
            raise ValueError(f"{where}: {leaf} is out of the range of {wanted}")
    if not fits:
        raise TypeError(f"{where}: expected {wanted}, got {leaf!r}")


def unflatten(tree: Tree, flat: Iterator[Tensor]) -> Any:
    """The result of an entry in its own form: a tensor, a tuple, a dictionary for a struct."""
    if tree is None:
        return None
    if isinstance(tree, int):
        return next(flat)
    if isinstance(tree, Mapping):
        return {name: unflatten(part, flat) for name, part in tree.items()}
    return tuple(unflatten(part, flat) for part in tree)


def _inputs(count: int) -> str:
    return f"{count} input{'' if count == 1 else 's'}"
