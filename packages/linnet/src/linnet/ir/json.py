"""IR as JSON documents: what `linnet inspect --ir` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linnet.check.definitions import (
    BlockDef,
    ConstDef,
    FunctionDef,
    GenericParam,
    ModuleScope,
    Where,
)
from linnet.check.types import (
    ArrayType,
    BlockType,
    OptionalType,
    Substitution,
    Tensor,
    show_arguments,
    show_dims,
)
from linnet.ir.model import IndexAxis, IRFunction, IRModule, Operation, Region
from linnet.shapes import Poly

VERSION = 1


def module_to_json(module: IRModule, root: BlockDef | None) -> dict[str, Any]:
    """The interface and the functions of a module, sizes symbolic."""
    return {
        **interface_to_json(module.module, root),
        "functions": [function_to_json(fn) for fn in module.functions.values()],
    }


def interface_to_json(module: ModuleScope, root: BlockDef | None) -> dict[str, Any]:
    """Root, manifest, blocks, entries and constants of a module."""
    blocks = [item for item in module.items if isinstance(item, BlockDef)]
    return {
        "version": VERSION,
        "module": module.name,
        "root": None if root is None else head(root),
        "manifest": [] if root is None else manifest_records(root),
        "blocks": [block_to_json(block) for block in blocks],
        "entries": [signature(fn) for fn in module.functions() if fn.kind == "entry"],
        "constants": [
            {"name": item.name, "type": str(item.type)}
            for item in module.items
            if isinstance(item, ConstDef)
        ],
    }


def head(block: BlockDef) -> dict[str, Any]:
    """Name, generics and constraints of a block."""
    return {
        "name": block.name,
        "generics": generics(block.generics),
        "constraints": constraints(block.where),
    }


def generics(params: Iterable[GenericParam]) -> list[dict[str, Any]]:
    """Declared generics."""
    return [
        {
            "name": g.name,
            "kind": g.kind,
            "default": None if g.default is None else show_arguments((g.default,))[1:-1],
        }
        for g in params
    ]


def constraints(where: Iterable[Where]) -> list[str]:
    """Constraints as text."""
    return [str(one.constraint) for one in where]


def block_to_json(block: BlockDef) -> dict[str, Any]:
    """A block with its members and the names of its methods."""
    return {
        **head(block),
        "members": [
            {"name": m.name, "kind": m.kind, "type": str(m.type)} for m in block.members.values()
        ],
        "methods": [signature(fn) for fn in block.methods()],
    }


def signature(fn: FunctionDef) -> dict[str, Any]:
    """What a caller needs to know of a function."""
    return {
        "name": fn.identity,
        "kind": fn.kind,
        "generics": generics(fn.generics),
        "constraints": constraints(fn.where),
        "params": [
            {"name": p.name, "type": str(p.type), "default": p.node.default is not None}
            for p in fn.params
        ],
        "result": str(fn.result),
    }


def manifest_records(root: BlockDef) -> list[dict[str, Any]]:
    """Members with data, sizes symbolic; `*` in a path counts up to the entries of `repeat`."""
    found: list[dict[str, Any]] = []
    _members(root, Substitution(), "", (), False, found)
    return found


def _members(
    block: BlockDef,
    values: Substitution,
    prefix: str,
    repeat: tuple[str, ...],
    optional: bool,
    found: list[dict[str, Any]],
) -> None:
    for member in block.members.values():
        path = f"{prefix}{member.name}"
        t = values.type(member.type)
        absent = optional or isinstance(t, OptionalType)
        t = t.inner if isinstance(t, OptionalType) else t
        if isinstance(t, Tensor):
            found.append(
                {
                    "path": path,
                    "kind": member.kind,
                    "dtype": str(t.dtype),
                    "shape": [show_dims((dim,)) for dim in t.dims],
                    "repeat": list(repeat),
                    "optional": absent,
                }
            )
            continue
        inner, counts = t, repeat
        if isinstance(t, ArrayType):
            inner, counts, path = t.element, (*repeat, str(t.size)), f"{path}.*"
        assert isinstance(inner, BlockType)
        bound = Substitution()
        for generic, value in zip(inner.definition.generics, inner.arguments, strict=True):
            bound.bind(generic.key, value)
        _members(inner.definition, bound, f"{path}.", counts, absent, found)


def function_to_json(fn: IRFunction) -> dict[str, Any]:
    """A function with all its operations."""
    record = {
        **signature(fn.definition),
        "instance": fn.instance,
        "params": [
            {
                "name": p.name,
                "value": p.value,
                "type": str(p.type),
                "default": None if p.default is None else region_to_json(p.default),
            }
            for p in fn.params
        ],
        "values": [str(t) for t in fn.types],
        "body": region_to_json(fn.body),
    }
    if fn.gradient is not None:
        record["gradient"] = region_to_json(fn.gradient)
    return record


def region_to_json(region: Region) -> dict[str, Any]:
    """A region."""
    return {
        "params": list(region.params),
        "operations": [operation_to_json(op) for op in region.operations],
        "results": list(region.results),
    }


def operation_to_json(op: Operation) -> dict[str, Any]:
    """An operation; sizes in attributes are text."""
    record: dict[str, Any] = {
        "kind": op.kind,
        "operands": list(op.operands),
        "results": list(op.results),
        "attributes": {name: plain(value) for name, value in op.attributes.items()},
        "span": list(op.span),
    }
    if op.regions:
        record["regions"] = [region_to_json(region) for region in op.regions]
    return record


def plain(value: Any) -> Any:
    """An attribute as plain data."""
    if isinstance(value, Poly):
        return str(value)
    if isinstance(value, FunctionDef):
        return value.identity
    if isinstance(value, IndexAxis):
        return {"number": value.number, "name": value.name, "extent": show_dims(value.extent)}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
