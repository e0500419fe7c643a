"""Types of expressions: the walk, names, literals, adoption, members."""

from __future__ import annotations

import sys
from collections.abc import Callable

from linnet.check.agreement import problem
from linnet.check.definitions import (
    BlockDef,
    ConstDef,
    Definition,
    EnumDef,
    FunctionDef,
    GenericParam,
    ImportedItem,
    ImportedModule,
    ModuleScope,
    StructDef,
)
from linnet.check.records import IndexVar, Local, MemberUse
from linnet.check.session import Session
from linnet.check.sizes import PRELUDE, PROTECTED
from linnet.check.types import (
    BOOL,
    ERROR,
    I64,
    ArrayType,
    BlockType,
    CompileInt,
    EnumType,
    ErrorType,
    FloatLiteralType,
    ModuleType,
    NoneType,
    OptionalType,
    Scalar,
    Tensor,
    TupleType,
    Type,
    UnitType,
    contains_literal,
    every,
)
from linnet.check.written import TypeResolver
from linnet.shapes import Atom, Poly, number, of
from linnet.syntax import tree


class IndexFrame:
    """The indices visible in an index definition or a reduction, innermost last."""

    def __init__(self) -> None:
        self.indices: list[IndexVar] = []
        self.missing: set[str] = set()

    def find(self, name: str) -> IndexVar | None:
        """The index called `name`."""
        return next((i for i in reversed(self.indices) if i.name == name), None)


# The largest number of f64, and so of all dtypes.
LARGEST = sys.float_info.max


class ExpressionChecker(TypeResolver):
    """Infers types of expressions and records what names and calls mean."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        super().__init__(session, module)
        self.scopes: list[dict[str, Local]] = [{}]
        self.frame: IndexFrame | None = None
        self.hidden_frames: list[IndexFrame] = []
        self.function: FunctionDef | None = None
        self._inferrers: dict[type, Callable[..., Type]] = {
            tree.IntLiteral: self.infer_number,
            tree.FloatLiteral: self.infer_number,
            tree.BoolLiteral: lambda e, x: BOOL,
            tree.NoneLiteral: lambda e, x: NoneType(),
            tree.Paren: lambda e, x: self.infer(e.inner, x),
            tree.Name: self.infer_name,
            tree.TupleExpr: self.infer_tuple,
            tree.SomeExpr: self.infer_some,
            tree.Field: self.infer_field,
            tree.Unary: self.infer_unary,
            tree.Binary: self.infer_binary,
            tree.Call: self.infer_call,
            tree.Index: self.infer_index,
            tree.Reduction: self.infer_reduction,
            tree.IfExpr: self.infer_if,
            tree.MatchExpr: self.infer_match,
            tree.ScanExpr: self.infer_scan,
            tree.ListExpr: self.misplaced,
            tree.PackUse: self.misplaced,
            tree.Ellipsis: self.misplaced,
            tree.Slice: self.misplaced,
        }

    def infer_number(
        self, expr: tree.IntLiteral | tree.FloatLiteral, expected: Type | None
    ) -> Type:
        """A literal; E2105 for one that no dtype holds."""
        if expr.value > LARGEST:
            self.error("E2105", "the number is too large for every dtype", expr, "too large")
            return ERROR
        if isinstance(expr, tree.FloatLiteral):
            return FloatLiteralType(expr.value)
        return integer_literal(expr.value)

    # Parts that the classes built on this one define

    def infer_unary(self, expr: tree.Unary, expected: Type | None) -> Type:
        """Prefix operators."""
        raise NotImplementedError

    def infer_binary(self, expr: tree.Binary, expected: Type | None) -> Type:
        """Infix operators."""
        raise NotImplementedError

    def infer_call(self, expr: tree.Call, expected: Type | None) -> Type:
        """Calls."""
        raise NotImplementedError

    def infer_index(self, expr: tree.Index, expected: Type | None) -> Type:
        """`base[...]`."""
        raise NotImplementedError

    def infer_reduction(self, expr: tree.Reduction, expected: Type | None) -> Type:
        """`sum[i] ...`."""
        raise NotImplementedError

    def infer_if(self, expr: tree.IfExpr, expected: Type | None) -> Type:
        """`if`."""
        raise NotImplementedError

    def infer_match(self, expr: tree.MatchExpr, expected: Type | None) -> Type:
        """`match`."""
        raise NotImplementedError

    def infer_scan(self, expr: tree.ScanExpr, expected: Type | None) -> Type:
        """A loop as a value."""
        raise NotImplementedError

    # The walk

    def infer(self, expr: tree.Expr, expected: Type | None = None) -> Type:
        """The type of an expression. `expected` is a hint only; `coerce` checks it."""
        found = self._inferrers[type(expr)](expr, expected)
        self.records.types[expr] = found
        return found

    def check(self, expr: tree.Expr, expected: Type) -> bool:
        """Infers an expression and makes it agree with `expected`."""
        return self.coerce(expr, self.infer(expr, expected), expected)

    def coerce(self, expr: tree.Expr, actual: Type, expected: Type) -> bool:
        """Reports unless `actual` may stand for `expected`; records what literals adopt."""
        if isinstance(actual, ErrorType) or isinstance(expected, ErrorType):
            return True
        inner = expr
        while isinstance(inner, tree.Paren):
            inner = inner.inner
        if (
            isinstance(inner, tree.TupleExpr)
            and isinstance(actual, TupleType)
            and isinstance(expected, TupleType)
            and len(actual.items) == len(expected.items)
        ):
            parts = zip(inner.items, actual.items, expected.items, strict=True)
            return every([self.coerce(e, a, x) for e, a, x in parts])
        if (
            isinstance(inner, tree.SomeExpr)
            and isinstance(actual, OptionalType)
            and isinstance(expected, OptionalType)
        ):
            return self.coerce(inner.inner, actual.inner, expected.inner)
        found = problem(actual, expected, self.facts)
        if found is not None:
            self.disagree(expr, actual, expected, found)
            return False
        if contains_literal(actual):
            self.records.adopted[expr] = expected
        return True

    def disagree(
        self, expr: tree.Expr, actual: Type, expected: Type, found: tuple[str, str]
    ) -> None:
        """Reports a mismatch with both types."""
        code, reason = found
        helps: tuple[str, ...] = ()
        if code == "E2103" and isinstance(expected, (Scalar, Tensor)):
            helps = (f"convert it: `cast<{expected.dtype}>(...)`",)
        elif isinstance(expected, OptionalType) and not isinstance(actual, OptionalType):
            helps = ("write `some(...)` around the value",)
        notes = [f"expected {expected}", f"found {actual}"]
        if isinstance(actual, Tensor) and isinstance(expected, Tensor) and code == "E2202":
            notes += self.difference_notes(actual, expected)
        self.error(
            code, f"expected {expected}, found {actual}", expr, reason, notes=notes[2:], helps=helps
        )

    def difference_notes(self, actual: Tensor, expected: Tensor) -> list[str]:
        """Which dimension is not proved equal, with an example where it fails."""
        from linnet.check.session import example_notes
        from linnet.shapes import Constraint, counterexample

        if len(actual.dims) != len(expected.dims):
            return [f"the ranks are {len(actual.dims)} and {len(expected.dims)}"]
        for axis, (a, e) in enumerate(zip(actual.dims, expected.dims, strict=True)):
            if isinstance(a, Poly) and isinstance(e, Poly) and not self.facts.equal(a, e):
                found = counterexample(self.facts, Constraint("==", a, e))
                return [f"axis {axis}: `{a}` is not proved equal to `{e}`", *example_notes(found)]
        return []

    def misplaced(self, expr: tree.Expr, expected: Type | None) -> Type:
        """Forms that are parts of others only."""
        self.error(
            "E2101",
            "a list of sizes or indices is not a value",
            expr,
            "not a value",
            helps=("lists stand in `reshape`, `permute`, `broadcast_to` and `fill`",),
        )
        return ERROR

    def settle(self, expr: tree.Expr, found: Type) -> Type:
        """The type a value keeps without context: integers are i64, floats f64."""
        settled = self.settled(found, expr)
        if settled != found:
            self.coerce(expr, found, settled)
        return settled

    def settle_number(self, expr: tree.Expr, found: Type) -> Type:
        """As `settle`, and a size becomes i64."""
        if isinstance(found, CompileInt):
            self.coerce(expr, found, I64)
            return I64
        return self.settle(expr, found)

    def settled(self, found: Type, at: tree.Node) -> Type:
        """Literal parts of a type replaced by their default dtypes."""
        if isinstance(found, CompileInt):
            known = found.poly.constant is not None or found.poly.invalid
            return I64 if known else found
        if isinstance(found, FloatLiteralType):
            return Scalar("f64")
        if isinstance(found, TupleType):
            return TupleType(tuple(self.settled(item, at) for item in found.items))
        if isinstance(found, OptionalType):
            return OptionalType(self.settled(found.inner, at))
        if isinstance(found, NoneType):
            self.error("E2113", "`none` of which type?", at, "give the type: `let x: T? = none`")
            return ERROR
        return found

    # Names

    def local(self, name: str) -> Local | None:
        """The innermost local called `name`."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def local_names(self) -> list[str]:
        """Names of locals and members, for suggestions."""
        members = list(self.block.members) if self.block else []
        return [*(name for scope in self.scopes for name in scope), *members]

    def size_local(self, name: str, at: tree.Node) -> Poly | bool | None:
        """A local's compile-time value, for types and sizes written in a body."""
        local = self.local(name)
        if local is None:
            return False
        local.used = True
        if local.size is not None:
            return local.size
        if isinstance(local.type, CompileInt):
            return local.type.poly
        if local.type is not ERROR:
            self.error(
                "E2123",
                f"`{name}` is not a compile-time integer",
                at,
                f"has the type {local.type}",
                helps=("only integers known when the program is checked can be sizes",),
            )
        return None

    def infer_name(self, expr: tree.Name, expected: Type | None) -> Type:
        """Locals, then generics, members, items, prelude."""
        name = expr.text
        for frame in (self.frame, *reversed(self.hidden_frames)):
            if frame is not None and frame.find(name) is not None:
                self.error(
                    "E3104",
                    f"the index `{name}` is not a value",
                    expr,
                    "an index",
                    helps=(f"its position is `iota(N)[{name}]`",),
                )
                return ERROR
        local = self.local(name)
        if local is not None:
            local.used = True
            self.records.names[expr] = local
            if local.size is not None and isinstance(local.type, CompileInt):
                return CompileInt(local.size)
            return self.element_only(expr, local.type)
        generic = self.generics.get(name)
        if generic is not None:
            return self.generic_value(expr, generic)
        if self.block is not None and name in self.block.members:
            member = self.block.members[name]
            member.used = True
            self.records.names[expr] = MemberUse(self.block, member)
            return self.element_only(expr, member.type)
        return self.item_value(expr)

    def element_only(self, expr: tree.Expr, found: Type) -> Type:
        """In index notation a tensor stands only with its indices."""
        if self.frame is not None and not isinstance(
            found, (Scalar, CompileInt, FloatLiteralType, ErrorType, EnumType)
        ):
            self.error(
                "E3104",
                "in index notation every value is an element",
                expr,
                f"this is a whole {found}",
                helps=("index every axis, or compute it in a `let` before",),
            )
            return ERROR
        return found

    def generic_value(self, expr: tree.Name, generic: GenericParam) -> Type:
        """A `Dim` generic is a compile-time integer; others are no values."""
        generic.used = True
        if isinstance(generic.key, Atom):
            self.records.names[expr] = generic
            return CompileInt(of(generic.key))
        self.error(
            "E1208", f"`{generic.name}` is a {generic.kind}, not a value", expr, "wrong kind"
        )
        return ERROR

    def item_value(self, expr: tree.Name) -> Type:
        """A constant or module; other items are no values."""
        name = expr.text
        found = self.item(name)
        if isinstance(found, ImportedModule):
            found.used = True
            self.records.names[expr] = found.scope
            return ModuleType(found.scope)
        definition = self.definition(name, expr)
        if definition is not None:
            return self.definition_value(definition, expr)
        if isinstance(found, ImportedItem):
            return ERROR
        if name in PROTECTED:
            what = "function" if name in PRELUDE else "type"
            self.error("E1208", f"`{name}` is a {what}, not a value", expr, "wrong kind of name")
            return ERROR
        self.unknown(name, expr)
        return ERROR

    def definition_value(self, definition: Definition, expr: tree.Expr) -> Type:
        """The value that an item's name is."""
        if isinstance(definition, ConstDef):
            self.records.names[expr] = definition
            return definition.type or ERROR
        kinds: dict[type, str] = {
            FunctionDef: "a function; call it with `(...)`",
            StructDef: "a struct; build it with its fields in parentheses",
            EnumDef: "an enum; name a variant of it",
            BlockDef: "a block; use it as the type of a `sub`",
        }
        what = kinds.get(type(definition), "no value")
        self.error("E1208", f"`{definition.name}` is {what}", expr, "wrong kind of name")
        return ERROR

    def infer_tuple(self, expr: tree.TupleExpr, expected: Type | None) -> Type:
        """Tuples."""
        hints: tuple[Type | None, ...] = (None,) * len(expr.items)
        if isinstance(expected, TupleType) and len(expected.items) == len(expr.items):
            hints = expected.items
        if self.frame is not None:
            self.error("E3104", "a tuple is not an element", expr, "in index notation")
            return ERROR
        items = tuple(self.infer(e, h) for e, h in zip(expr.items, hints, strict=True))
        for item, node in zip(items, expr.items, strict=True):
            if not self.is_value(item, node):
                return ERROR
        return self.tuple_type(items, expr)

    def infer_some(self, expr: tree.SomeExpr, expected: Type | None) -> Type:
        """`some(v)`."""
        hint = expected.inner if isinstance(expected, OptionalType) else None
        inner = self.infer(expr.inner, hint)
        if not self.is_value(inner, expr.inner):
            return ERROR
        if isinstance(inner, (OptionalType, NoneType)):
            self.error("E2101", "an optional of an optional is no type", expr, "nested optional")
            return ERROR
        return OptionalType(inner)

    def is_value(self, found: Type, at: tree.Node) -> bool:
        """Reports what cannot be stored, passed or returned: blocks, modules, nothing."""
        if isinstance(found, (BlockType, ArrayType, ModuleType, UnitType)):
            self.error("E2101", f"{found} is not a value here", at, "not a value")
            return False
        if isinstance(found, OptionalType) and isinstance(found.inner, BlockType):
            self.error("E2101", f"{found} is not a value here", at, "match on it instead")
            return False
        return found is not ERROR

    def infer_field(self, expr: tree.Field, expected: Type | None) -> Type:
        """`base.name`."""
        raise NotImplementedError


def integer_literal(value: int) -> CompileInt:
    """The type of an integer literal."""
    size = number(value)
    return CompileInt(size, value if size.invalid else None)
