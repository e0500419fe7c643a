"""Operators: dtypes, broadcasting, compile-time arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from linnet.check.agreement import literal_problem
from linnet.check.expressions import integer_literal
from linnet.check.members import MemberChecker
from linnet.check.types import (
    BOOL,
    ERROR,
    I64,
    CompileInt,
    Dim,
    Dims,
    DType,
    EnumType,
    ErrorType,
    FloatLiteralType,
    Scalar,
    Tensor,
    Type,
    dtype_class,
    is_integer,
    is_numeric,
    show_dims,
)
from linnet.shapes import Constraint, Facts, Pack, Poly, counterexample
from linnet.syntax import tree

ARITHMETIC = ("+", "-", "*", "/", "%")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BITWISE = ("&", "|", "^")


def is_literal(t: Type) -> bool:
    """Whether a type adopts its dtype from the other operand."""
    return isinstance(t, (CompileInt, FloatLiteralType))


def dtype_of(t: Type) -> DType | None:
    """The dtype of a scalar or tensor."""
    return t.dtype if isinstance(t, (Scalar, Tensor)) else None


def dims_of(t: Type) -> Dims:
    """The dimensions of a tensor; none for a scalar."""
    return t.dims if isinstance(t, Tensor) else ()


def shaped(dims: Dims, dtype: DType) -> Type:
    """A tensor, or a scalar when there are no dimensions."""
    return Tensor(dims, dtype) if dims else Scalar(dtype)


@dataclass(frozen=True)
class Clash:
    """Two dimensions that are not proved to broadcast."""

    left: Dim
    right: Dim


def broadcast(left: Dims, right: Dims, facts: Facts) -> Dims | Clash:
    """The shape both broadcast to, or the first pair (from the right) that is not proved."""
    found: list[Dim] = []
    for position in range(1, max(len(left), len(right)) + 1):
        if position > len(left):
            found.append(right[-position])
        elif position > len(right):
            found.append(left[-position])
        else:
            a, b = left[-position], right[-position]
            if isinstance(a, Pack) or isinstance(b, Pack):
                if a is not b:
                    return Clash(a, b)
                found.append(a)
            elif a.constant == 1:
                found.append(b)
            elif b.constant == 1 or facts.equal(a, b):
                found.append(a)
            else:
                return Clash(a, b)
    return tuple(reversed(found))


class OperatorChecker(MemberChecker):
    """Types of unary and binary operators."""

    def operand(self, expr: tree.Expr, found: Type, operator: str) -> bool:
        """E2104 unless the type is a scalar, tensor or literal."""
        if isinstance(found, (Scalar, Tensor)) or is_literal(found):
            return True
        if found is not ERROR:
            self.error("E2104", f"`{operator}` is not defined for {found}", expr, "wrong type")
        return False

    def infer_unary(self, expr: tree.Unary, expected: Type | None) -> Type:
        """`-`, `+` on numbers, `!` on a scalar bool."""
        found = self.infer(expr.operand, expected)
        if expr.operator == "!":
            if found is not ERROR and found != BOOL:
                self.error(
                    "E2116",
                    f"`!` takes a scalar bool, not {found}",
                    expr.operand,
                    "not a scalar bool",
                )
                return ERROR
            return found
        if not self.operand(expr.operand, found, expr.operator):
            return ERROR
        if isinstance(found, CompileInt):
            if expr.operator == "+":
                return found
            if found.literal is not None:
                return integer_literal(-found.literal)
            return self.within_64_bits(-found.poly, expr)
        if isinstance(found, FloatLiteralType):
            value = found.value
            negative = expr.operator == "-" and value is not None
            return FloatLiteralType(-value if negative and value is not None else value)
        dtype = dtype_of(found)
        assert dtype is not None
        if not is_numeric(dtype):
            self.error(
                "E2104", f"`{expr.operator}` is not defined for {dtype}", expr, "not a number"
            )
            return ERROR
        return found

    def infer_binary(self, expr: tree.Binary, expected: Type | None) -> Type:
        """Arithmetic, comparisons, bitwise and logical operators."""
        operator = expr.operator
        hint = expected if operator in ARITHMETIC else None
        left = self.infer(expr.left, hint)
        right = self.infer(expr.right, hint)
        if operator in ("&&", "||"):
            return self.logical(expr, left, right)
        if left is ERROR or right is ERROR:
            return ERROR
        if isinstance(left, EnumType) and left == right and operator in ("==", "!="):
            return BOOL
        ok = self.operand(expr.left, left, operator) and self.operand(expr.right, right, operator)
        if not ok:
            return ERROR
        if is_literal(left) and is_literal(right):
            return self.literals(expr, left, right)
        return self.numbers(expr, left, right)

    def within_64_bits(self, size: Poly, expr: tree.Expr) -> Type:
        """The type of computed compile-time integers; E2105 for one that 64 bits do not hold."""
        if size.invalid:
            message = "the compile-time integer leaves the 64-bit range"
            self.error("E2105", message, expr, "overflow")
            return ERROR
        return CompileInt(size)

    def logical(self, expr: tree.Binary, left: Type, right: Type) -> Type:
        """`&&` and `||` take scalar bools only."""
        bad = False
        for side, found in ((expr.left, left), (expr.right, right)):
            if found != BOOL and found is not ERROR and not bad:
                bad = True
                helps: tuple[str, ...] = ()
                if isinstance(found, Tensor) and found.dtype == "bool":
                    helps = (f"`{expr.operator[0]}` works element by element",)
                self.error(
                    "E2116",
                    f"`{expr.operator}` takes scalar bools, not {found}",
                    side,
                    "not a scalar bool",
                    helps=helps,
                )
        return ERROR if bad else BOOL

    def literals(self, expr: tree.Binary, left: Type, right: Type) -> Type:
        """Arithmetic on two literals happens when the program is checked."""
        operator = expr.operator
        if isinstance(left, CompileInt) and isinstance(right, CompileInt):
            if operator in ARITHMETIC:
                size = self.size_operation(operator, left.poly, right.poly, expr)
                return self.within_64_bits(size, expr)
            if operator in BITWISE:
                self.coerce(expr.left, left, I64)
                self.coerce(expr.right, right, I64)
                return I64
            return BOOL
        if operator in BITWISE:
            self.error("E2104", f"`{operator}` is not defined for floats", expr, "not integers")
            return ERROR
        if operator in COMPARISONS:
            return BOOL
        a, b = literal_value(left), literal_value(right)
        if a is None or b is None:
            return FloatLiteralType(None)
        return FloatLiteralType(fold_floats(operator, a, b))

    def numbers(self, expr: tree.Binary, left: Type, right: Type) -> Type:
        """At least one operand has a dtype; the other has the same or adopts it."""
        operator = expr.operator
        dtype = dtype_of(left) or dtype_of(right)
        assert dtype is not None
        for side, found in ((expr.left, left), (expr.right, right)):
            own = dtype_of(found)
            if own is not None and not operator_defined(operator, own):
                self.error(
                    "E2104", f"`{operator}` is not defined for {own}", side, f"this is {found}"
                )
                return ERROR
        shape = self.broadcast_dims(expr, left, right)
        if shape is None or not self.same_dtype(expr, (expr.left, left), (expr.right, right)):
            return ERROR
        return shaped(shape, "bool" if operator in COMPARISONS else dtype)

    def same_dtype(self, at: tree.Node, *operands: tuple[tree.Expr, Type]) -> bool:
        """Reports operands whose dtypes differ; literals among them adopt the common dtype."""
        typed = [(e, d) for e, t in operands if (d := dtype_of(t)) is not None]
        if not typed:
            return True
        dtype = typed[0][1]
        for node, other in typed[1:]:
            if other != dtype:
                self.error(
                    "E2103",
                    f"the operands have different dtypes: {dtype} and {other}",
                    at,
                    "nothing is converted on its own",
                    notes=[f"{t}" for _, t in operands],
                    helps=(f"convert one of them: `cast<{dtype}>(...)`",),
                    related=(self.mark(node, f"this is {other}"),),
                )
                return False
        for node, found in operands:
            if is_literal(found):
                wrong = literal_problem(found, dtype)
                if wrong is not None:
                    code = "E2103" if wrong[0] == "E2101" else wrong[0]
                    self.error(code, f"this literal does not become {dtype}", node, wrong[1])
                    return False
                self.records.adopted[node] = Scalar(dtype)
        return True

    def broadcast_dims(self, at: tree.Node, *operands: Type) -> Dims | None:
        """The common shape, or None after E2207."""
        shape = dims_of(operands[0])
        for other in operands[1:]:
            found = broadcast(shape, dims_of(other), self.facts)
            if isinstance(found, Clash):
                self.broadcast_error(at, shape, dims_of(other), found)
                return None
            shape = found
        return shape

    def broadcast_error(self, at: tree.Node, left: Dims, right: Dims, clash: Clash) -> None:
        """E2207 with the pair of dimensions and an example."""
        from linnet.check.session import example_notes

        a, b = clash.left, clash.right
        notes = [f"the shapes are [{show_dims(left)}] and [{show_dims(right)}]"]
        if not isinstance(a, Pack) and not isinstance(b, Pack):
            notes += example_notes(counterexample(self.facts, Constraint("==", a, b)))
        self.error(
            "E2207",
            f"cannot prove that the axes `{show_dims((a,))}` and `{show_dims((b,))}` broadcast",
            at,
            "the sizes are neither equal nor 1",
            notes=notes,
        )

    def error_types(self, *types: Type) -> bool:
        """Whether one of them is wrong already."""
        return any(isinstance(t, ErrorType) for t in types)


def operator_defined(operator: str, dtype: DType) -> bool:
    """Whether an operator works on every dtype that `dtype` may be."""
    if operator in ARITHMETIC:
        return is_numeric(dtype)
    if operator in BITWISE:
        return dtype == "bool" or is_integer(dtype)
    if operator in ("==", "!="):
        return True
    return "bool" not in dtype_class(dtype)


def literal_value(t: Type) -> float | None:
    """The number a literal is, if it is known."""
    if isinstance(t, FloatLiteralType):
        return t.value
    assert isinstance(t, CompileInt)
    constant = t.poly.constant if t.literal is None else t.literal
    try:
        return None if constant is None else float(constant)
    except OverflowError:
        return float("inf") if constant and constant > 0 else float("-inf")


def fold_floats(operator: str, a: float, b: float) -> float:
    """Arithmetic on doubles as IEEE 754 has it."""
    import math

    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if operator == "/":
        if b == 0:
            if a == 0 or math.isnan(a):
                return math.nan
            return math.copysign(math.inf, a) * math.copysign(1.0, b)
        return a / b
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)
