"""Lowering expressions."""

from __future__ import annotations

from typing import Any

from linnet.check.definitions import ConstDef, GenericParam, ModuleScope
from linnet.check.records import (
    FunctionCall,
    IndexVar,
    Local,
    MemberUse,
    PreludeCall,
    StructCall,
    VariantUse,
)
from linnet.check.types import (
    BOOL,
    I64,
    UNIT,
    BlockType,
    CompileInt,
    FloatLiteralType,
    GenericKey,
    GenericValue,
    ModuleType,
    NoneType,
    OptionalType,
    Scalar,
    TupleType,
    Type,
    contains_literal,
)
from linnet.ir.model import IndexAxis, Operation, Region
from linnet.shapes import Atom, Pack, Poly, of
from linnet.source import Span
from linnet.syntax import tree

BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "rem",
    "&": "and",
    "|": "or",
    "^": "xor",
    "&&": "and",
    "||": "or",
}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class ExpressionLowerer:
    """Emits operations for expressions into a stack of open regions."""

    def __init__(self, module: ModuleScope) -> None:
        self.module = module
        self.records = module.records
        self.types: list[Type] = []
        self.names: list[str] = []
        self.environment: dict[Local, int] = {}
        self.instance: int | None = None
        self.regions: list[list[Operation]] = [[]]
        self.indices: dict[IndexVar, int] = {}
        self._comprehensions = 0

    def as_values(self, keys: tuple[GenericKey, ...]) -> tuple[GenericValue, ...]:
        """Generics standing for themselves."""
        found: list[GenericValue] = []
        for key in keys:
            if isinstance(key, Atom):
                found.append(of(key))
            else:
                found.append((key,) if isinstance(key, Pack) else key)
        return tuple(found)

    # Emitting

    def value(self, t: Type, name: str = "") -> int:
        """A new value."""
        self.types.append(t)
        self.names.append(name)
        return len(self.types) - 1

    def open(self) -> None:
        """Starts a region."""
        self.regions.append([])

    def close(self, params: tuple[int, ...], results: tuple[int, ...]) -> Region:
        """Ends the region started last."""
        return Region(params, tuple(self.regions.pop()), results)

    def region(self, expr: tree.Expr) -> Region:
        """A region that gives one expression."""
        self.open()
        return self.close((), (self.expression(expr),))

    def emit(
        self,
        kind: str,
        operands: tuple[int, ...],
        t: Type | None,
        span: Span,
        regions: tuple[Region, ...] = (),
        **attributes: Any,
    ) -> int:
        """Emits an operation with one result of type `t`, or none; gives the result."""
        results = () if t is None else (self.value(t),)
        self.emit_many(kind, operands, results, span, regions, **attributes)
        return results[0] if results else -1

    def emit_many(
        self,
        kind: str,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        span: Span,
        regions: tuple[Region, ...] = (),
        **attributes: Any,
    ) -> None:
        """Emits an operation."""
        self.regions[-1].append(Operation(kind, operands, results, attributes, regions, span))

    # The walk

    def expression(self, expr: tree.Expr) -> int:
        """Lowers an expression; literals take the dtype that they adopted."""
        adopted = self.records.adopted.get(expr)
        if isinstance(expr, tree.Paren):
            number = self.expression(expr.inner)
        else:
            found = self.records.types[expr]
            if isinstance(found, CompileInt):
                if found.literal is not None and isinstance(adopted, Scalar):
                    return self.emit("constant", (), adopted, expr.span, value=found.literal)
                if isinstance(adopted, Scalar):
                    return self.emit("size", (), adopted, expr.span, size=found.poly)
                number = self.emit("size", (), found, expr.span, size=found.poly)
            elif isinstance(found, FloatLiteralType) and found.value is not None:
                wanted = adopted if isinstance(adopted, Scalar) else found
                return self.emit("constant", (), wanted, expr.span, value=found.value)
            elif isinstance(found, NoneType):
                return self.emit("none", (), adopted or found, expr.span)
            else:
                number = self.form(expr)
        if adopted is not None:
            return self.convert(number, adopted, expr.span)
        return number

    def convert(self, number: int, wanted: Type, span: Span) -> int:
        """Gives the literal parts of a value the dtypes of `wanted`."""
        found = self.types[number]
        if found == wanted or not contains_literal(found):
            return number
        if isinstance(found, CompileInt) and isinstance(wanted, Scalar):
            return self.emit("size", (), wanted, span, size=found.poly)
        if isinstance(found, TupleType) and isinstance(wanted, TupleType):
            parts = []
            for index, (have, want) in enumerate(zip(found.items, wanted.items, strict=True)):
                part = self.emit("tuple_get", (number,), have, span, index=index)
                parts.append(self.convert(part, want, span))
            return self.emit("tuple", tuple(parts), wanted, span)
        return self.emit("adopt", (number,), wanted, span)

    def form(self, expr: tree.Expr) -> int:
        """Lowers by the kind of expression."""
        t = self.records.types[expr]
        span = expr.span
        if isinstance(expr, tree.BoolLiteral):
            return self.emit("constant", (), BOOL, span, value=expr.value)
        if isinstance(expr, tree.Name):
            return self.name(expr)
        if isinstance(expr, tree.TupleExpr):
            items = tuple(self.expression(item) for item in expr.items)
            made = TupleType(tuple(self.types[i] for i in items))
            return self.emit("tuple", items, made, span)
        if isinstance(expr, tree.SomeExpr):
            inner = self.expression(expr.inner)
            return self.emit("some", (inner,), OptionalType(self.types[inner]), span)
        if isinstance(expr, tree.Field):
            return self.field(expr)
        if isinstance(expr, tree.Unary):
            if expr.operator == "+":
                return self.expression(expr.operand)
            kind = "not" if expr.operator == "!" else "neg"
            return self.emit(kind, (self.expression(expr.operand),), t, span)
        if isinstance(expr, tree.Binary):
            return self.binary(expr, t)
        if isinstance(expr, tree.Call):
            return self.call(expr, t)
        if isinstance(expr, tree.Index):
            return self.index(expr, t)
        if isinstance(expr, tree.Reduction):
            return self.reduction(expr, t)
        if isinstance(expr, tree.IfExpr):
            condition = self.expression(expr.condition)
            arms = (self.region(expr.then), self.region(expr.other))
            return self.emit("if", (condition,), self.types[arms[0].results[0]], span, arms)
        if isinstance(expr, tree.MatchExpr):
            return self.match(expr)
        if isinstance(expr, tree.ScanExpr):
            return self.scan(expr)
        raise AssertionError(f"{type(expr).__name__} is no value of a checked program")

    def scan(self, node: tree.ScanExpr) -> int:
        """Overridden by the statement lowerer."""
        raise NotImplementedError

    def size_of(self, expr: tree.Expr) -> Poly:
        """The polynomial of an expression that the checker took as a compile-time integer."""
        found = self.records.types[expr]
        if isinstance(found, CompileInt):
            return found.poly
        size = getattr(self.records.names[expr], "size", None)
        assert isinstance(size, Poly)
        return size

    # Names and members

    def name(self, expr: tree.Name) -> int:
        """What a bare name stands for."""
        target = self.records.names[expr]
        if isinstance(target, Local):
            return self.environment[target]
        if isinstance(target, MemberUse):
            assert self.instance is not None
            return self.member(self.instance, target.member.name, target.member.kind, expr)
        if isinstance(target, ConstDef):
            return self.constant(target, expr.span)
        assert isinstance(target, GenericParam)
        assert isinstance(target.key, Atom)
        return self.emit("size", (), CompileInt(of(target.key)), expr.span, size=of(target.key))

    def member(self, instance: int, name: str, kind: str, expr: tree.Expr) -> int:
        """A parameter, buffer, state or child of an instance."""
        t = self.records.types[expr]
        operation = {"sub": "child", "state": "state_read"}.get(kind, "param")
        return self.emit(operation, (instance,), t, expr.span, member=name)

    def constant(self, target: ConstDef, span: Span) -> int:
        """The value of a constant, which lives in the records of its own module."""
        assert target.node is not None
        inner = ExpressionLowerer(target.scope)
        inner.types, inner.names, inner.regions = self.types, self.names, self.regions
        return inner.expression(target.node.value)

    def field(self, expr: tree.Field) -> int:
        """`base.name`."""
        target = self.records.names.get(expr)
        t = self.records.types[expr]
        if isinstance(target, VariantUse):
            return self.emit("enum", (), t, expr.span, index=target.index)
        if isinstance(target, ConstDef):
            return self.constant(target, expr.span)
        base = self.records.types[expr.base]
        assert not isinstance(base, ModuleType)
        number = self.expression(expr.base)
        if isinstance(base, BlockType):
            member = base.definition.members[expr.name.text]
            return self.member(number, member.name, member.kind, expr)
        return self.emit("struct_get", (number,), t, expr.span, field=expr.name.text)

    # Operators and calls

    def binary(self, expr: tree.Binary, t: Type) -> int:
        """Infix operators; comparisons of two literals compare i64 or f64."""
        left, right = self.expression(expr.left), self.expression(expr.right)
        if expr.operator in COMPARISONS:
            types = (self.types[left], self.types[right])
            if all(isinstance(x, (CompileInt, FloatLiteralType)) for x in types):
                both = all(isinstance(x, CompileInt) for x in types)
                wanted = I64 if both else Scalar("f64")
                left = self.convert(left, wanted, expr.span)
                right = self.convert(right, wanted, expr.span)
            return self.emit(
                "compare", (left, right), t, expr.span, comparison=COMPARISONS[expr.operator]
            )
        return self.emit(BINARY[expr.operator], (left, right), t, expr.span)

    def call(self, expr: tree.Call, t: Type) -> int:
        """Calls of functions, structs and prelude functions."""
        record = self.records.calls.get(expr)
        if record is None:
            # `min` and `max` of two sizes are sizes, which `expression` has handled.
            raise AssertionError("a call without a record")
        if isinstance(record, StructCall):
            parts = tuple(self.expression(e) for e in record.arguments)
            fields = tuple(record.struct.fields)
            explicit = record.explicit
            return self.emit("struct", parts, t, expr.span, fields=fields, explicit=explicit)
        if isinstance(record, FunctionCall):
            return self.function_call(expr, record, t)
        return self.prelude(expr, record, t)

    def function_call(self, expr: tree.Call, record: FunctionCall, t: Type) -> int:
        """Operands are the instance of a method, then the arguments that are given."""
        operands: list[int] = []
        if record.callee.block is not None:
            if record.instance is None:
                assert self.instance is not None
                operands.append(self.instance)
            else:
                operands.append(self.expression(record.instance))
        given = tuple(argument is not None for argument in record.arguments)
        operands += [self.expression(a) for a in record.arguments if a is not None]
        bindings = {g.name: record.bindings.get(g.key) for g in record.callee.generics}
        return self.emit(
            "call",
            tuple(operands),
            None if t is UNIT else t,
            expr.span,
            callee=record.callee,
            bindings=bindings,
            given=given,
            explicit=record.explicit,
        )

    def prelude(self, expr: tree.Call, record: PreludeCall, t: Type) -> int:
        """Prelude functions are operations."""
        operands = tuple(self.expression(e) for e in record.values)
        kind = {"broadcast_to": "broadcast"}.get(record.name, record.name)
        if kind in ("concat", "cumsum"):
            return self.emit(kind, operands, t, expr.span, axis=record.axes[0])
        if kind == "permute":
            return self.emit(kind, operands, t, expr.span, axes=record.axes)
        return self.emit(kind, operands, t, expr.span)

    # Indexing

    def index(self, expr: tree.Index, t: Type) -> int:
        """A slice, an element in index notation, or a block of an array."""
        access = self.records.accesses.get(expr)
        base = self.expression(expr.base)
        operands = [base]
        if access is not None:
            parts: list[tuple[str, Any]] = []
            for part in access.parts:
                if part.index is not None:
                    parts.append(("index", self.indices[part.index]))
                elif part.constant is not None:
                    parts.append(("constant", part.constant))
                else:
                    assert part.element is not None
                    operands.append(self.expression(part.element))
                    parts.append(("element", len(operands) - 1))
            return self.emit("element", tuple(operands), t, expr.span, parts=tuple(parts))
        taken = self.records.slices[expr]
        if isinstance(t, BlockType):
            return self.emit("array_get", (base,), t, expr.span, index=taken[0].start)
        shown: list[tuple[Any, ...]] = []
        for one in taken:
            if one.kind == "whole":
                shown.append(("whole", one.dims))
            elif one.kind == "range":
                shown.append(("range", one.start, one.stop, one.step))
            elif one.kind == "constant":
                shown.append(("constant", one.start))
            else:
                assert one.element is not None
                operands.append(self.expression(one.element))
                shown.append(("element", len(operands) - 1))
        return self.emit("slice", tuple(operands), t, expr.span, parts=tuple(shown))

    def axes(self, indices: tuple[IndexVar, ...]) -> tuple[IndexAxis, ...]:
        """Declares indices of a comprehension or reduction."""
        found = []
        for index in indices:
            self.indices[index] = len(self.indices)
            found.append(IndexAxis(self.indices[index], index.name, index.extent or (), index.pack))
        return tuple(found)

    def index_definition(self, node: tree.IndexDefinition) -> int:
        """`let y[i] = ...`."""
        axes = self.axes(self.records.indices[node])
        self._comprehensions += 1
        region = self.region(node.value)
        self._comprehensions -= 1
        t = self.records.locals[node].type
        number = self.emit("comprehension", (), t, node.span, (region,), indices=axes)
        self.names[number] = node.name.text
        return number

    def reduction(self, expr: tree.Reduction, t: Type) -> int:
        """`sum[i] ...`; outside index notation in a comprehension without indices."""
        nested = self.in_comprehension()
        if not nested:
            self.open()
            self._comprehensions += 1
        axes = self.axes(self.records.indices[expr])
        region = self.region(expr.body)
        number = self.emit("reduce", (), t, expr.span, (region,), reduction=expr.kind, indices=axes)
        if nested:
            return number
        self._comprehensions -= 1
        outer = self.close((), (number,))
        return self.emit("comprehension", (), t, expr.span, (outer,), indices=())

    def in_comprehension(self) -> bool:
        """Whether elements are meant rather than whole tensors."""
        return self._comprehensions > 0

    # Branches

    def match(self, expr: tree.MatchExpr) -> int:
        """`match`; each case is `some`, `none`, a variant's index, or `_`."""
        subject = self.expression(expr.subject)
        cases: list[str | int] = []
        regions: list[Region] = []
        for arm in expr.arms:
            params: tuple[int, ...] = ()
            self.open()
            pattern = arm.pattern
            if isinstance(pattern, tree.SomePattern):
                t = self.types[subject]
                assert isinstance(t, OptionalType)
                inner = self.value(t.inner)
                params = (inner,)
                self.bind(pattern.inner, inner)
                cases.append("some")
            elif isinstance(pattern, tree.NonePattern):
                cases.append("none")
            else:
                use = self.records.patterns.get(pattern)
                if isinstance(use, VariantUse):
                    cases.append(use.index)
                else:
                    cases.append("_")
                    self.bind(pattern, subject)
            regions.append(self.close(params, (self.expression(arm.value),)))
        t = self.types[regions[0].results[0]]
        return self.emit("match", (subject,), t, expr.span, tuple(regions), cases=tuple(cases))

    def bind(self, pattern: tree.Pattern, number: int) -> None:
        """Names the parts of a value."""
        if isinstance(pattern, tree.NamePattern):
            local = self.records.patterns.get(pattern)
            if isinstance(local, Local):
                self.environment[local] = number
                self.names[number] = self.names[number] or local.name
        elif isinstance(pattern, tree.TuplePattern):
            t = self.types[number]
            assert isinstance(t, TupleType)
            for index, inner in enumerate(pattern.items):
                part = self.emit("tuple_get", (number,), t.items[index], pattern.span, index=index)
                self.bind(inner, part)
