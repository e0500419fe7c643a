"""IR as JSON documents: what `linnet inspect --ir` prints and `linnet emit` reads.

The document stands alone: types, sizes and names are text as the module's own source would write
them, and what other modules declare is listed in `imports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linnet.check.definitions import (
    AliasDef,
    BlockDef,
    ConstDef,
    EnumDef,
    FunctionDef,
    GenericParam,
    ModuleScope,
    StructDef,
    Where,
)
from linnet.check.types import (
    UNIT,
    ArrayType,
    BlockType,
    EnumType,
    OptionalType,
    Scalar,
    Substitution,
    Tensor,
    Type,
    contains_literal,
    show_dims,
)
from linnet.ir.model import IndexAxis, IRConstant, IRFunction, IRModule, Operation, Region
from linnet.ir.names import Names
from linnet.shapes import Pack, Poly

VERSION = 1
# Kinds whose result's shape or dtype the source writes.
_SHAPED = ("reshape", "broadcast", "fill", "iota")
_TYPED = ("cast", "fill", "iota")


def module_to_json(module: IRModule, root: BlockDef | None) -> dict[str, Any]:
    """The interface, the functions and the values of constants of a module, sizes symbolic."""
    names = Names(module.module)
    writer = _FunctionWriter(names)
    functions = [writer.function(fn) for fn in module.functions.values()]
    values = {
        definition: writer.constant_value(one) for definition, one in module.constants.items()
    }
    return {**_interface(names, root, values), "functions": functions}


def interface_to_json(module: ModuleScope, root: BlockDef | None) -> dict[str, Any]:
    """Root, manifest, items and entries of a module."""
    return _interface(Names(module), root, {})


def _interface(
    names: Names, root: BlockDef | None, values: Mapping[ConstDef, dict[str, Any]]
) -> dict[str, Any]:
    module = names.module
    writer = _InterfaceWriter(names, values)
    document = {
        "version": VERSION,
        "module": module.name,
        "root": None if root is None else writer.head(root),
        "manifest": [] if root is None else manifest_records(root),
        "enums": [writer.enum(i) for i in module.items if isinstance(i, EnumDef)],
        "structs": [writer.struct(i) for i in module.items if isinstance(i, StructDef)],
        "aliases": [writer.alias(i) for i in module.items if isinstance(i, AliasDef)],
        "constants": [writer.constant(i) for i in module.items if isinstance(i, ConstDef)],
        "blocks": [writer.block(i) for i in module.items if isinstance(i, BlockDef)],
        "entries": [writer.signature(fn) for fn in module.functions() if fn.kind == "entry"],
    }
    # Written last, since writing types finds out what is imported.
    document["imports"] = [
        {"module": names.path(definition.scope), "name": definition.name, "as": local}
        for definition, local in names.imports.items()
    ]
    return document


class _InterfaceWriter:
    """Items of a module without their bodies."""

    def __init__(self, names: Names, values: Mapping[ConstDef, dict[str, Any]]) -> None:
        self.names = names
        self.values = values

    def head(self, item: BlockDef) -> dict[str, Any]:
        """Name, generics and constraints of a block."""
        return {
            "name": item.name,
            "generics": self.generics(item.generics),
            "constraints": self.constraints(item.where),
        }

    def generics(self, params: Iterable[GenericParam]) -> list[dict[str, Any]]:
        """Declared generics."""
        return [
            {
                "name": g.name,
                "kind": g.kind,
                "default": None if g.default is None else self.names.argument(g.default),
            }
            for g in params
        ]

    def constraints(self, where: Iterable[Where]) -> list[str]:
        """Constraints as text."""
        return [str(one.constraint) for one in where]

    def enum(self, item: EnumDef) -> dict[str, Any]:
        """An enum."""
        return {"name": item.name, "public": item.public, "variants": list(item.variants)}

    def struct(self, item: StructDef) -> dict[str, Any]:
        """A struct."""
        return {
            "name": item.name,
            "public": item.public,
            "generics": self.generics(item.generics),
            "fields": [{"name": n, "type": self.names.type(t)} for n, t in item.fields.items()],
        }

    def alias(self, item: AliasDef) -> dict[str, Any]:
        """A named type."""
        assert item.target is not None
        return {
            "name": item.name,
            "public": item.public,
            "generics": self.generics(item.generics),
            "type": self.names.type(item.target),
        }

    def constant(self, item: ConstDef) -> dict[str, Any]:
        """A constant, with its value where IR is printed; a literal's type is None."""
        assert item.type is not None
        written = None if contains_literal(item.type) else self.names.type(item.type)
        record = {"name": item.name, "public": item.public, "type": written}
        return {**record, **self.values.get(item, {})}

    def block(self, item: BlockDef) -> dict[str, Any]:
        """A block with its members and the signatures of its methods."""
        return {
            **self.head(item),
            "public": item.public,
            "members": [
                {
                    "name": m.name,
                    "kind": m.kind,
                    "type": self.names.type(m.type),
                    "default": None if m.node.default is None else "none",
                }
                for m in item.members.values()
            ],
            "constants": [self.constant(i) for i in item.items.values() if isinstance(i, ConstDef)],
            "methods": [self.signature(fn) for fn in item.methods()],
        }

    def signature(self, fn: FunctionDef) -> dict[str, Any]:
        """What a caller needs to know of a function; the result is None if it gives none."""
        return {
            "name": fn.identity,
            "kind": fn.kind,
            "public": fn.public,
            "generics": self.generics(fn.generics),
            "constraints": self.constraints(fn.where),
            "params": [
                {
                    "name": p.name,
                    "type": self.names.type(p.type),
                    "default": p.node.default is not None,
                }
                for p in fn.params
            ],
            "result": None if fn.result in (None, UNIT) else self.names.type(fn.result),
        }


class _FunctionWriter(_InterfaceWriter):
    """Functions with their operations."""

    def __init__(self, names: Names) -> None:
        super().__init__(names, {})
        self.types: Sequence[Type] = ()

    def constant_value(self, one: IRConstant) -> dict[str, Any]:
        """The value of a constant."""
        self.types = one.types
        return {"values": self.value_records(one.names), "body": self.region(one.body)}

    def function(self, fn: IRFunction) -> dict[str, Any]:
        """A function with all its operations."""
        self.types = fn.types
        block = fn.block
        return {
            **self.signature(fn.definition),
            "block": None if block is None else block.name,
            "instance": fn.instance,
            "params": [
                {
                    "name": p.name,
                    "value": p.value,
                    "type": self.names.type(p.type),
                    "default": None if p.default is None else self.region(p.default),
                }
                for p in fn.params
            ],
            "values": self.value_records(fn.names),
            "body": self.region(fn.body),
            "gradient": None if fn.gradient is None else self.region(fn.gradient),
        }

    def value_records(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Types and names of values; a literal value still adopts its dtype from elsewhere."""
        return [
            {"type": self.names.type(t), "name": name, "literal": contains_literal(t)}
            for t, name in zip(self.types, names, strict=True)
        ]

    def region(self, region: Region) -> dict[str, Any]:
        """A region."""
        return {
            "params": list(region.params),
            "operations": [self.operation(op) for op in region.operations],
            "results": list(region.results),
        }

    def operation(self, op: Operation) -> dict[str, Any]:
        """An operation; sizes in attributes are text."""
        attributes = {name: self.plain(value) for name, value in op.attributes.items()}
        record: dict[str, Any] = {
            "kind": op.kind,
            "operands": list(op.operands),
            "results": list(op.results),
            "attributes": {**attributes, **self.written(op)},
            "span": list(op.span),
        }
        if op.regions:
            record["regions"] = [self.region(region) for region in op.regions]
        return record

    def written(self, op: Operation) -> dict[str, Any]:
        """What source writes and the result's type or the operands' say."""
        t = self.types[op.results[0]] if op.results else None
        found: dict[str, Any] = {}
        if op.kind in _SHAPED:
            found["dims"] = self.names.dims(t.dims) if isinstance(t, Tensor) else []
        if op.kind in _TYPED and isinstance(t, (Scalar, Tensor)):
            found["dtype"] = str(t.dtype)
        if op.kind == "enum" and isinstance(t, EnumType):
            found["variant"] = t.definition.variants[op.attributes["index"]]
        if op.kind == "match":
            subject = self.types[op.operands[0]]
            variants = subject.definition.variants if isinstance(subject, EnumType) else ()
            found["cases"] = [
                {"variant": variants[case]} if isinstance(case, int) else case
                for case in op.attributes["cases"]
            ]
        if op.kind == "call":
            callee = op.attributes["callee"]
            bindings = op.attributes["bindings"].items()
            found["bindings"] = {name: self.names.argument(value) for name, value in bindings}
            found["callee"] = {
                "name": callee.name if callee.block else self.names.local(callee),
                "identity": callee.identity,
                "kind": callee.kind,
                "method": callee.block is not None,
                "params": [p.name for p in callee.params],
                "writes_state": callee.may_write_state(),
            }
        return found

    def plain(self, value: Any) -> Any:
        """An attribute as plain data."""
        if isinstance(value, Poly):
            return str(value)
        if isinstance(value, Pack):
            return f"*{value.name}"
        if isinstance(value, FunctionDef):
            return value.identity
        if isinstance(value, IndexAxis):
            extent = self.names.dims(value.extent)
            return {
                "number": value.number,
                "name": value.name,
                "pack": value.pack,
                "extent": extent,
            }
        if isinstance(value, Mapping):
            return {name: self.plain(part) for name, part in value.items()}
        if isinstance(value, tuple):
            return [self.plain(part) for part in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)


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
