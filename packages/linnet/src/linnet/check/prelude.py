"""Calls of prelude functions: dispatch, and those that work element by element."""

from __future__ import annotations

from collections.abc import Callable

from linnet.check.calls import CallChecker
from linnet.check.definitions import ModuleScope
from linnet.check.operators import dims_of, dtype_of, is_literal, shaped
from linnet.check.records import PreludeCall
from linnet.check.session import Session
from linnet.check.types import (
    ERROR,
    I64,
    CompileInt,
    Dims,
    DType,
    FloatLiteralType,
    Scalar,
    Tensor,
    Type,
    is_float,
    is_integer,
    is_numeric,
)
from linnet.shapes import maximum, minimum
from linnet.syntax import tree

MATH = ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh")
WHOLE = ("reshape", "permute", "broadcast_to", "concat", "iota", "fill", "cumsum")


class ElementPreludeChecker(CallChecker):
    """Types of the functions that every module has."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        super().__init__(session, module)
        self._preludes: dict[str, Callable[[tree.Call, str, Type | None], Type]] = {
            "cast": self.call_cast,
            "abs": self.call_abs,
            "min": self.call_extremum,
            "max": self.call_extremum,
            "shl": self.call_shift,
            "shr": self.call_shift,
            "select": self.call_select,
            **dict.fromkeys(MATH, self.call_math),
        }

    def call_prelude(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """Dispatches by name."""
        if name not in self._preludes:
            self.error(
                "E2190",
                f"`{name}` is reserved and not implemented",
                expr.callee,
                "not implemented",
                helps=("index notation gathers: `x[ids[i], j]`",) if name == "gather" else (),
            )
            return ERROR
        if expr.generics is not None and name not in ("cast", "iota", "fill"):
            self.error("E2111", f"`{name}` takes no generic arguments", expr, "drop them")
            return ERROR
        if self.frame is not None and name in WHOLE:
            self.error(
                "E3104",
                f"`{name}` makes a whole tensor",
                expr,
                "not an element",
                helps=("index it, or compute it in a `let` before",),
            )
            return ERROR
        return self._preludes[name](expr, name, expected)

    # Helpers

    def values(self, expr: tree.Call, name: str, params: tuple[str, ...]) -> list[tree.Expr] | None:
        """The arguments of a function with these parameters, or None after E2102."""
        matched = self.match_arguments(expr, name, [(p, False) for p in params])
        return None if matched is None else [e for e in matched if e is not None]

    def number(self, node: tree.Expr, name: str, expected: Type | None = None) -> Type:
        """Infers an operand; ERROR unless it is a scalar, tensor or literal."""
        found = self.infer(node, expected)
        return found if self.operand(node, found, name) else ERROR

    def tensor(self, node: tree.Expr, name: str) -> Tensor | None:
        """Infers an operand that must be a tensor."""
        found = self.infer(node)
        if isinstance(found, Tensor):
            return found
        if found is not ERROR:
            self.error("E2104", f"`{name}` takes a tensor, not {found}", node, "not a tensor")
        return None

    def sizes_list(self, node: tree.Expr) -> Dims | None:
        """`[a, *S, b]` as dimensions."""
        if not isinstance(node, tree.ListExpr):
            self.error(
                "E2102", "expected a list of sizes such as `[N, 4]`", node, "not a list of sizes"
            )
            return None
        return self.shape(node.items)

    def record(
        self, expr: tree.Call, name: str, *values: tree.Expr, axes: tuple[int, ...] = ()
    ) -> None:
        """Notes the call for lowering."""
        self.records.calls[expr] = PreludeCall(name, values, axes)

    def dtype_argument(self, expr: tree.Call, name: str) -> DType | bool | None:
        """The one dtype in angle brackets; False if there is none, None after an error."""
        if expr.generics is None:
            return False
        if len(expr.generics) != 1:
            self.error("E2111", f"`{name}` takes one dtype", expr, "too many")
            return None
        node = expr.generics[0]
        if not isinstance(node, tree.PathType):
            self.error("E2111", f"`{name}` takes a dtype", node, "not a dtype")
            return None
        return self.dtype(node)

    # Element by element

    def call_cast(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`cast<T>(x)`; T must be written."""
        dtype = self.dtype_argument(expr, name)
        if dtype is False:
            self.error(
                "E2110",
                "`cast` needs its dtype",
                expr,
                "which dtype?",
                helps=("write `cast<f32>(x)`",),
            )
            self.infer_all(expr)
            return ERROR
        given = self.values(expr, name, ("x",))
        if given is None or dtype is None:
            self.infer_all(expr)
            return ERROR
        found = self.number(given[0], name)
        if found is ERROR:
            return ERROR
        assert not isinstance(dtype, bool)
        if is_literal(found):
            # A literal is cast from the dtype it has without context.
            self.coerce(given[0], found, I64 if isinstance(found, CompileInt) else Scalar("f64"))
        self.record(expr, name, given[0])
        return shaped(dims_of(found), dtype)

    def call_math(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """Functions of floats."""
        given = self.values(expr, name, ("x",))
        if given is None:
            self.infer_all(expr)
            return ERROR
        found = self.number(given[0], name, expected)
        if isinstance(found, FloatLiteralType):
            wanted = expected if isinstance(expected, Scalar) and is_float(expected.dtype) else None
            wanted = wanted or Scalar("f64")
            self.coerce(given[0], found, wanted)
            found = wanted
        dtype = dtype_of(found)
        if found is not ERROR and (dtype is None or not is_float(dtype)):
            self.error("E2104", f"`{name}` takes floats, not {found}", given[0], "not a float")
            return ERROR
        self.record(expr, name, given[0])
        return found

    def call_abs(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`abs(x)` of numbers."""
        given = self.values(expr, name, ("x",))
        if given is None:
            self.infer_all(expr)
            return ERROR
        found = self.number(given[0], name, expected)
        if found is ERROR:
            return ERROR
        if is_literal(found):
            found = self.settle_number(given[0], found)
        dtype = dtype_of(found)
        assert dtype is not None
        if not is_numeric(dtype):
            self.error("E2104", f"`abs` is not defined for {dtype}", given[0], "not a number")
            return ERROR
        self.record(expr, name, given[0])
        return found

    def call_extremum(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`min` and `max` of two numbers; of two sizes, a size."""
        given = self.values(expr, name, ("a", "b"))
        if given is None:
            self.infer_all(expr)
            return ERROR
        left, right = (self.number(node, name, expected) for node in given)
        if left is ERROR or right is ERROR:
            return ERROR
        if isinstance(left, CompileInt) and isinstance(right, CompileInt):
            fold = minimum if name == "min" else maximum
            return CompileInt(fold(left.poly, right.poly))
        if is_literal(left) and is_literal(right):
            wanted = Scalar("f64")
            self.coerce(given[0], left, wanted)
            self.coerce(given[1], right, wanted)
            self.record(expr, name, *given)
            return wanted
        return self.elementwise(expr, name, given, [left, right], is_numeric, "numbers")

    def elementwise(
        self,
        expr: tree.Call,
        name: str,
        nodes: list[tree.Expr],
        types: list[Type],
        defined: Callable[[DType], bool],
        what: str,
    ) -> Type:
        """Operands of one dtype that broadcast."""
        for node, found in zip(nodes, types, strict=True):
            dtype = dtype_of(found)
            if dtype is not None and not defined(dtype):
                self.error("E2104", f"`{name}` takes {what}, not {dtype}", node, "wrong dtype")
                return ERROR
        shape = self.broadcast_dims(expr, *types)
        pairs = list(zip(nodes, types, strict=True))
        if shape is None or not self.same_dtype(expr, *pairs):
            return ERROR
        dtype = next(d for t in types if (d := dtype_of(t)) is not None)
        self.record(expr, name, *nodes)
        return shaped(shape, dtype)

    def call_shift(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`shl`, `shr` of integers."""
        given = self.values(expr, name, ("x", "bits"))
        if given is None:
            self.infer_all(expr)
            return ERROR
        types = [self.number(node, name, expected) for node in given]
        if ERROR in types:
            return ERROR
        if all(is_literal(t) for t in types):
            for node, found in zip(given, types, strict=True):
                if not self.coerce(node, found, I64):
                    return ERROR
            self.record(expr, name, *given)
            return I64
        return self.elementwise(expr, name, given, types, is_integer, "integers")

    def call_select(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`select(c, a, b)`: a where c, else b."""
        given = self.values(expr, name, ("c", "a", "b"))
        if given is None:
            self.infer_all(expr)
            return ERROR
        condition = self.number(given[0], name)
        left, right = (self.number(node, name, expected) for node in given[1:])
        if self.error_types(condition, left, right):
            return ERROR
        if dtype_of(condition) != "bool":
            self.error(
                "E2114", f"`select` chooses by bools, not {condition}", given[0], "not a bool"
            )
            return ERROR
        if is_literal(left) and is_literal(right):
            floats = FloatLiteralType in (type(left), type(right))
            hint = dtype_of(expected) if expected is not None else None
            wanted = Scalar(hint if hint is not None else "f64" if floats else "i64")
            for node, found in zip(given[1:], (left, right), strict=True):
                if not self.coerce(node, found, wanted):
                    return ERROR
            left = right = wanted
        shape = self.broadcast_dims(expr, condition, left, right)
        if shape is None or not self.same_dtype(expr, (given[1], left), (given[2], right)):
            return ERROR
        dtype = dtype_of(left) or dtype_of(right)
        assert dtype is not None
        self.record(expr, name, *given)
        return shaped(shape, dtype)
