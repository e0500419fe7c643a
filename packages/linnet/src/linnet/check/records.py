"""What the checker found out about each node, for lowering."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from linnet.check.types import Dims, Substitution, Type
from linnet.shapes import Poly
from linnet.syntax import tree

if TYPE_CHECKING:
    from linnet.check.definitions import (
        BlockDef,
        ConstDef,
        EnumDef,
        FunctionDef,
        GenericParam,
        MemberInfo,
        ModuleScope,
        StructDef,
    )


@dataclass(eq=False)
class Local:
    """A parameter, `let`, `var`, pattern name or loop variable.

    `size` is the compile-time value of an immutable integer that has one.
    """

    name: str
    type: Type
    node: tree.Node
    mutable: bool = False
    size: Poly | None = None
    used: bool = False
    is_param: bool = False
    depth: int = 0


@dataclass(frozen=True)
class MemberUse:
    """A member of the block around, by its bare name."""

    block: BlockDef
    member: MemberInfo


@dataclass(frozen=True)
class VariantUse:
    """A variant of an enum."""

    enum: EnumDef
    index: int


Resolution: TypeAlias = "Local | GenericParam | MemberUse | ConstDef | VariantUse | ModuleScope"


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function or method.

    `arguments` is aligned with the parameters; None stands for the default. `instance` is the
    expression that gives the block instance, or None for the instance around (or no block). The
    first `explicit` generics are written in the call.
    """

    callee: FunctionDef
    bindings: Substitution
    arguments: tuple[tree.Expr | None, ...]
    instance: tree.Expr | None
    explicit: int


@dataclass(frozen=True)
class StructCall:
    """Building a struct: expressions in the order of the fields, the first generics written."""

    struct: StructDef
    arguments: tuple[tree.Expr, ...]
    explicit: int


@dataclass(frozen=True)
class PreludeCall:
    """A call of a prelude function. `values` are its tensor or scalar arguments."""

    name: str
    values: tuple[tree.Expr, ...]
    axes: tuple[int, ...] = ()


CallRecord: TypeAlias = "FunctionCall | StructCall | PreludeCall"


@dataclass(eq=False)
class IndexVar:
    """An index of index notation; `extent` is one dimension, or several for a pack index."""

    name: str
    pack: bool
    node: tree.Node
    extent: Dims | None = None
    used: bool = False


@dataclass(frozen=True)
class IndexPart:
    """How one component addresses axes `first .. first + len` of the tensor.

    One of: an index; a constant position; an element (an integer expression).
    """

    index: IndexVar | None = None
    constant: Poly | None = None
    element: tree.Expr | None = None


@dataclass(frozen=True)
class Access:
    """An element access in index notation."""

    parts: tuple[IndexPart, ...]


@dataclass(frozen=True)
class SlicePart:
    """How one axis is taken: whole (`dims`), a range, a constant position or an element."""

    kind: str
    dims: Dims = ()
    start: Poly | None = None
    stop: Poly | None = None
    step: int = 1
    element: tree.Expr | None = None


@dataclass(eq=False, repr=False)
class Records:
    """Side tables of one module's trees."""

    types: dict[tree.Node, Type] = field(default_factory=dict)
    adopted: dict[tree.Node, Type] = field(default_factory=dict)
    names: dict[tree.Node, Resolution] = field(default_factory=dict)
    calls: dict[tree.Call, CallRecord] = field(default_factory=dict)
    accesses: dict[tree.Index, Access] = field(default_factory=dict)
    slices: dict[tree.Index, tuple[SlicePart, ...]] = field(default_factory=dict)
    indices: dict[tree.Node, tuple[IndexVar, ...]] = field(default_factory=dict)
    patterns: dict[tree.Node, Local | VariantUse] = field(default_factory=dict)
    locals: dict[tree.Node, Local] = field(default_factory=dict)
