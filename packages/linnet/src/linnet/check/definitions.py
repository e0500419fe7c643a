"""What a module declares: definitions, signatures, scopes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from linnet.check.types import GenericKey, GenericValue, Type
from linnet.shapes import Constraint, Facts
from linnet.source import SourceFile, Span
from linnet.syntax import tree

if TYPE_CHECKING:
    from linnet.check.records import Records


@dataclass(eq=False, repr=False)
class GenericParam:
    """A declared generic. `kind` is Dim, Shape or a class of dtypes."""

    name: str
    kind: str
    key: GenericKey
    span: Span
    default: GenericValue | None = None
    used: bool = False


@dataclass(frozen=True, eq=False)
class ParamInfo:
    """A declared parameter of a function."""

    name: str
    type: Type
    node: tree.Param


@dataclass(frozen=True)
class Where:
    """One constraint of a `where` clause and where it is written."""

    constraint: Constraint
    span: Span


@dataclass(eq=False, repr=False)
class Definition:
    """Anything that has a name at the level of a module or block. `state` guards against cycles."""

    name: str
    scope: ModuleScope
    span: Span
    public: bool
    state: str = "new"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identity})"

    @property
    def identity(self) -> str:
        """`module::name`."""
        return f"{self.scope.name}::{self.name}"


@dataclass(eq=False, repr=False)
class ConstDef(Definition):
    """A constant. `type` is set once resolved."""

    node: tree.Const | None = None
    type: Type | None = None


@dataclass(eq=False, repr=False)
class GenericDef(Definition):
    """A definition with generics."""

    generics: tuple[GenericParam, ...] = ()
    where: tuple[Where, ...] = ()
    facts: Facts = field(default_factory=Facts)


@dataclass(eq=False, repr=False)
class AliasDef(GenericDef):
    """A named type."""

    node: tree.Alias | None = None
    target: Type | None = None


@dataclass(eq=False, repr=False)
class StructDef(GenericDef):
    """A struct and its fields in order. `parts` counts them, structs inside taken apart."""

    node: tree.Struct | None = None
    fields: dict[str, Type] = field(default_factory=dict)
    parts: int = 1


@dataclass(eq=False, repr=False)
class EnumDef(Definition):
    """An enum and its variants in order."""

    variants: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class KernelDef(Definition):
    """A kernel, not built yet."""


@dataclass(eq=False, repr=False)
class FunctionDef(GenericDef):
    """`fn`, `op` or `entry`; `block` is set for a method."""

    node: tree.Function = field(kw_only=True)
    params: tuple[ParamInfo, ...] = ()
    result: Type | None = None
    block: BlockDef | None = None
    callees: dict[FunctionDef, Span] = field(default_factory=dict)
    condition_callees: dict[FunctionDef, Span] = field(default_factory=dict)
    writes_state: bool = False

    @property
    def kind(self) -> str:
        """fn, op or entry."""
        return self.node.kind

    @property
    def identity(self) -> str:
        """`module::name` or `module::Block.name`."""
        owner = f"{self.block.name}." if self.block else ""
        return f"{self.scope.name}::{owner}{self.name}"

    def may_write_state(self) -> bool:
        """Whether a call may write a state, in the body or through what that calls."""
        seen = {self}
        pending = [self]
        while pending:
            callees = [fn for fn in pending.pop().callees if fn not in seen]
            seen.update(callees)
            pending += callees
        return any(fn.writes_state for fn in seen)


@dataclass(eq=False, repr=False)
class MemberInfo:
    """`param`, `buffer`, `state` or `sub` of a block."""

    name: str
    kind: str
    type: Type
    node: tree.Member
    used: bool = False

    @property
    def optional(self) -> bool:
        """Whether it may be absent."""
        return isinstance(self.node.type, tree.OptionalType)


@dataclass(eq=False, repr=False)
class BlockDef(GenericDef):
    """A block: members, then methods and other items by name.

    `parts` counts the members, those of blocks inside too, for each array once.
    """

    node: tree.BlockItem | None = None
    members: dict[str, MemberInfo] = field(default_factory=dict)
    items: dict[str, Definition] = field(default_factory=dict)
    parts: int = 1

    def methods(self) -> list[FunctionDef]:
        """The functions declared inside."""
        return [item for item in self.items.values() if isinstance(item, FunctionDef)]


@dataclass(eq=False, repr=False)
class ImportedModule:
    """`use a.b` or the module an item came from."""

    scope: ModuleScope
    span: Span
    used: bool = False


@dataclass(eq=False, repr=False)
class ImportedItem:
    """One name of `use a.b::{name}`; `target` is None when the import itself was wrong."""

    target: Definition | None
    span: Span
    used: bool = False


Named: TypeAlias = "Definition | ImportedModule | ImportedItem"


@dataclass(eq=False, repr=False)
class ModuleScope:
    """One module: its names and everything known about its bodies.

    `root` is the folder of its package, None for the library, and `inside` what modules of that
    package call it.
    """

    name: str
    file: SourceFile
    tree: tree.File
    names: dict[str, Named] = field(default_factory=dict)
    items: list[Definition] = field(default_factory=list)
    records: Records = field(kw_only=True)
    library: bool = False
    root: Path | None = None
    inside: str = ""

    def __repr__(self) -> str:
        return f"ModuleScope({self.name})"

    def functions(self) -> list[FunctionDef]:
        """All functions, methods included, in order."""
        found: list[FunctionDef] = []
        for item in self.items:
            if isinstance(item, FunctionDef):
                found.append(item)
            elif isinstance(item, BlockDef):
                found += item.methods()
        return found

    def constants(self) -> list[ConstDef]:
        """All constants, those of blocks included, in order."""
        found: list[ConstDef] = []
        for item in self.items:
            inner = item.items.values() if isinstance(item, BlockDef) else (item,)
            found += [one for one in inner if isinstance(one, ConstDef)]
        return found
