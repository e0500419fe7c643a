"""The IR: a module's functions in static single assignment form, sizes symbolic.

A function is a region of operations over numbered values. Structure stays as in the source: loops,
branches and index notation are operations with nested regions; calls name their callee. The graph
is made from this by binding all sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linnet.check.definitions import (
    BlockDef,
    ConstDef,
    FunctionDef,
    GenericParam,
    ModuleScope,
    Where,
)
from linnet.check.types import Dims, Type
from linnet.source import Span


@dataclass(frozen=True)
class IndexAxis:
    """An index of a comprehension or reduction; a pack index has any number of dimensions."""

    number: int
    name: str
    extent: Dims
    pack: bool


@dataclass(frozen=True)
class Region:
    """Operations over values of the function; `results` are what the region gives."""

    params: tuple[int, ...]
    operations: tuple[Operation, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Operation:
    """One operation. `attributes` depend on the kind; `linnet.ir.kinds` lists them."""

    kind: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: Mapping[str, Any]
    regions: tuple[Region, ...]
    span: Span


@dataclass(frozen=True, eq=False)
class IRParam:
    """A parameter; `default` is a region with one result, or None."""

    name: str
    type: Type
    value: int
    default: Region | None


@dataclass(frozen=True, eq=False)
class IRFunction:
    """A function, op, entry or method. Methods take their block instance as value `instance`."""

    definition: FunctionDef
    module: ModuleScope
    instance: int | None
    params: tuple[IRParam, ...]
    result: Type
    body: Region
    types: tuple[Type, ...]
    names: tuple[str, ...]
    gradient: Region | None = None

    @property
    def identity(self) -> str:
        """`module::name` or `module::Block.name`."""
        return self.definition.identity

    @property
    def kind(self) -> str:
        """fn, op or entry."""
        return self.definition.kind

    @property
    def block(self) -> BlockDef | None:
        """The block of a method."""
        return self.definition.block

    @property
    def generics(self) -> tuple[GenericParam, ...]:
        """The function's own generics."""
        return self.definition.generics

    @property
    def where(self) -> tuple[Where, ...]:
        """The function's own constraints."""
        return self.definition.where


@dataclass(frozen=True, eq=False)
class IRConstant:
    """A constant of a module or block; the region gives its value."""

    definition: ConstDef
    body: Region
    types: tuple[Type, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class IRModule:
    """All functions and constants of a module, by definition; those in blocks included."""

    module: ModuleScope
    functions: Mapping[FunctionDef, IRFunction]
    constants: Mapping[ConstDef, IRConstant]
