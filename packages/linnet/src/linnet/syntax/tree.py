"""The syntax tree. Nodes are immutable and compared by identity; `same_tree` compares structure.

One class for each rule of the grammar. It is over 500 lines long because the whole tree is read in
one place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from linnet.source import SourceFile, Span
from linnet.syntax.lexer import Comment

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    _Class = TypeVar("_Class")

    @dataclass_transform(eq_default=False, frozen_default=True)
    def node(cls: type[_Class]) -> type[_Class]:
        """A frozen dataclass, compared by identity."""

else:
    # Frozen for the type checker only: making 60 classes frozen at run time takes longer than
    # checking a model, and frozen nodes take longer to make.
    node = dataclass(eq=False, repr=False, slots=True)


@node
class Node:
    """Any part of the tree."""

    span: Span


@node
class Identifier(Node):
    """A name where it is declared or used."""

    text: str


# Expressions


@node
class IntLiteral(Node):
    """An integer as written."""

    text: str
    value: int


@node
class FloatLiteral(Node):
    """A float as written."""

    text: str
    value: float


@node
class BoolLiteral(Node):
    """`true` or `false`."""

    value: bool


@node
class NoneLiteral(Node):
    """`none`."""


@node
class Name(Node):
    """A bare name."""

    text: str


@node
class Paren(Node):
    """`(inner)`."""

    inner: Expr


@node
class TupleExpr(Node):
    """`(a, b)` or `(a,)`."""

    items: tuple[Expr, ...]


@node
class ListExpr(Node):
    """`[a, *S, b]`: the dimensions or axes given to a prelude function."""

    items: tuple[Expr, ...]


@node
class SomeExpr(Node):
    """`some(inner)`."""

    inner: Expr


@node
class Reduction(Node):
    """`sum<T>[i, j] body`; an index is (name, is it a pack)."""

    kind: str
    dtype: TypeExpr | None
    indices: tuple[IndexName, ...]
    body: Expr


@node
class IfExpr(Node):
    """`if condition { then } else { other }`."""

    condition: Expr
    then: Expr
    other: Expr


@node
class MatchArm(Node):
    """`pattern => value`."""

    pattern: Pattern
    value: Expr


@node
class MatchExpr(Node):
    """`match subject { arms }`."""

    subject: Expr
    arms: tuple[MatchArm, ...]


@node
class ScanExpr(Node):
    """`for counter in start .. stop { ... yield v }` as a value."""

    counter: Identifier
    start: Expr
    stop: Expr
    body: Block


@node
class Unary(Node):
    """One of `! - +` before an operand."""

    operator: str
    operand: Expr


@node
class Binary(Node):
    """Two operands with an operator between them."""

    operator: str
    left: Expr
    right: Expr


@node
class Argument(Node):
    """`value` or `name = value`."""

    name: Identifier | None
    value: Expr


@node
class Call(Node):
    """`callee<generics>(arguments)`."""

    callee: Expr
    generics: tuple[GenericArgument, ...] | None
    arguments: tuple[Argument, ...]


@node
class Index(Node):
    """`base[components]`."""

    base: Expr
    components: tuple[Expr, ...]


@node
class Field(Node):
    """`base.name`."""

    base: Expr
    name: Identifier


@node
class PackUse(Node):
    """`*S` in a list of dimensions or indices."""

    name: str


@node
class Ellipsis(Node):
    """`...` in an index."""


@node
class Slice(Node):
    """`start : stop : step` in an index; each may be missing."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


# Types


@node
class PathType(Node):
    """`a.b.Name<generics>`; also dtype names and generics."""

    names: tuple[Identifier, ...]
    generics: tuple[GenericArgument, ...] | None


@node
class TensorType(Node):
    """`Tensor[dims; dtype]`."""

    dims: tuple[Expr, ...]
    dtype: TypeExpr


@node
class TupleType(Node):
    """`(A, B)` or `(A,)`."""

    items: tuple[TypeExpr, ...]


@node
class ArrayType(Node):
    """`[Block; size]`."""

    element: TypeExpr
    size: Expr


@node
class OptionalType(Node):
    """`inner?`."""

    inner: TypeExpr


# Patterns


@node
class NamePattern(Node):
    """Binds a name, or names an enum's variant."""

    text: str


@node
class NonePattern(Node):
    """`none`."""


@node
class SomePattern(Node):
    """`some(inner)`."""

    inner: Pattern


@node
class TuplePattern(Node):
    """`(a, b)`."""

    items: tuple[Pattern, ...]


# Statements


@node
class Block(Node):
    """`{ statements }`."""

    statements: tuple[Statement, ...]


@node
class Let(Node):
    """`let pattern : type = value`."""

    pattern: Pattern
    type: TypeExpr | None
    value: Expr


@node
class IndexName(Node):
    """An index or, with `*`, a pack index."""

    text: str
    pack: bool


@node
class IndexDefinition(Node):
    """`let name[indices] = value`."""

    name: Identifier
    indices: tuple[IndexName, ...]
    value: Expr


@node
class Var(Node):
    """`var name : type = value`."""

    name: Identifier
    type: TypeExpr | None
    value: Expr


@node
class Assign(Node):
    """`name = value`."""

    name: Identifier
    value: Expr


@node
class Return(Node):
    """`return value`."""

    value: Expr | None


@node
class StaticFor(Node):
    """`static for pattern in start .. stop { }`; `stop` is None for a walk over a block array."""

    pattern: Pattern
    start: Expr
    stop: Expr | None
    body: Block


@node
class For(Node):
    """`for counter in start .. stop { }`."""

    counter: Identifier
    start: Expr
    stop: Expr
    body: Block


@node
class While(Node):
    """`while condition { }`."""

    condition: Expr
    body: Block


@node
class Yield(Node):
    """`yield value`."""

    value: Expr


# Items


@node
class Generic(Node):
    """`name: Kind = default`; `kind` is Dim, Shape, DType, Numeric, Integer or Float."""

    name: Identifier
    pack: bool
    kind: Identifier
    default: TypeExpr | Expr | None


@node
class Param(Node):
    """A parameter of a function: `name: type = default`."""

    name: Identifier
    type: TypeExpr
    default: Expr | None


@node
class Const(Node):
    """`const name : type = value`."""

    public: bool
    name: Identifier
    type: TypeExpr | None
    value: Expr


@node
class Alias(Node):
    """`type name<generics> = target`."""

    public: bool
    name: Identifier
    generics: tuple[Generic, ...]
    target: TypeExpr


@node
class StructField(Node):
    """`name: type` of a struct."""

    name: Identifier
    type: TypeExpr


@node
class Struct(Node):
    """`struct name<generics> { fields }`."""

    public: bool
    name: Identifier
    generics: tuple[Generic, ...]
    fields: tuple[StructField, ...]


@node
class Enum(Node):
    """`enum name { variants }`."""

    public: bool
    name: Identifier
    variants: tuple[Identifier, ...]


@node
class Gradient(Node):
    """`grad(y, dy) { }`."""

    result: Identifier
    gradient: Identifier
    body: Block


@node
class KernelBinding(Node):
    """`kernel name<generics>` of an op."""

    name: Identifier
    generics: tuple[GenericArgument, ...] | None


@node
class Function(Node):
    """`fn`, `op` or `entry`."""

    public: bool
    kind: str
    name: Identifier
    generics: tuple[Generic, ...]
    params: tuple[Param, ...]
    result: TypeExpr | None
    where: tuple[Expr, ...]
    body: Block
    kernel: KernelBinding | None
    gradient: Gradient | None


@node
class Kernel(Node):
    """A `kernel` item; its inside is not read yet."""

    public: bool
    name: Identifier


@node
class Member(Node):
    """`param`, `sub`, `buffer` or `state` of a block."""

    kind: str
    name: Identifier
    type: TypeExpr
    default: Expr | None


@node
class BlockItem(Node):
    """`block name<generics> where ... { members and items }`, in order."""

    public: bool
    name: Identifier
    generics: tuple[Generic, ...]
    where: tuple[Expr, ...]
    content: tuple[Member | Item, ...]


@node
class Imported(Node):
    """`name as alias` in a `use`."""

    name: Identifier
    alias: Identifier | None

    @property
    def local(self) -> Identifier:
        """The name it has here."""
        return self.alias or self.name


@node
class Use(Node):
    """`use path::{items}`; `items` is None for `use path`, which binds the module's name."""

    path: tuple[Identifier, ...]
    items: tuple[Imported, ...] | None
    braced: bool


@node
class File(Node):
    """A whole file. `comments` holds all comments in order; the nodes hold none."""

    source: SourceFile
    module: tuple[Identifier, ...]
    uses: tuple[Use, ...]
    items: tuple[Item, ...]
    comments: tuple[Comment, ...]


Expr: TypeAlias = (
    IntLiteral
    | FloatLiteral
    | BoolLiteral
    | NoneLiteral
    | Name
    | Paren
    | TupleExpr
    | ListExpr
    | SomeExpr
    | Reduction
    | IfExpr
    | MatchExpr
    | ScanExpr
    | Unary
    | Binary
    | Call
    | Index
    | Field
    | PackUse
    | Ellipsis
    | Slice
)
TypeExpr: TypeAlias = PathType | TensorType | TupleType | ArrayType | OptionalType
GenericArgument: TypeAlias = TypeExpr | Expr
Pattern: TypeAlias = NamePattern | NonePattern | SomePattern | TuplePattern
Statement: TypeAlias = (
    Let | IndexDefinition | Var | Assign | Return | StaticFor | For | While | Yield
)
Item: TypeAlias = Const | Alias | Struct | Enum | Function | Kernel | BlockItem


def outline(root: object) -> object:
    """The tree as nested tuples of class names and fields, without places and comments."""
    if isinstance(root, File):
        return ("File", outline(root.module), outline(root.uses), outline(root.items))
    if isinstance(root, Node):
        skipped = ("span", "text" if isinstance(root, IntLiteral) else "")
        parts = [outline(getattr(root, f.name)) for f in fields(root) if f.name not in skipped]
        return (type(root).__name__, *parts)
    if isinstance(root, tuple):
        return tuple(outline(part) for part in root)
    return root


def same_tree(first: File, second: File) -> bool:
    """Whether two files differ in nothing but layout and comments."""
    return outline(first) == outline(second)
