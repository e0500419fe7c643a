"""Calls of prelude functions."""

from __future__ import annotations

from collections.abc import Callable

from linnet.check.calls import CallChecker
from linnet.check.definitions import ModuleScope
from linnet.check.operators import Clash, broadcast, dims_of, dtype_of, is_literal, shaped
from linnet.check.records import PreludeCall
from linnet.check.session import Session
from linnet.check.types import (
    ERROR,
    I64,
    CompileInt,
    Dim,
    Dims,
    DType,
    FloatLiteralType,
    Scalar,
    Tensor,
    Type,
    count,
    is_float,
    is_integer,
    is_numeric,
    show_dims,
)
from linnet.shapes import ZERO, Constraint, Pack, Poly, maximum, minimum
from linnet.syntax import tree

MATH = ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh")
WHOLE = ("reshape", "permute", "broadcast_to", "concat", "iota", "fill", "cumsum")


class PreludeChecker(CallChecker):
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
            "reshape": self.call_reshape,
            "permute": self.call_permute,
            "broadcast_to": self.call_broadcast,
            "concat": self.call_concat,
            "iota": self.call_iota,
            "fill": self.call_fill,
            "cumsum": self.call_cumsum,
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
            found = self.settle(given[0], found)
            if isinstance(found, CompileInt):
                self.coerce(given[0], found, I64)
                found = I64
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

    # Whole tensors

    def call_reshape(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`reshape(x, [dims])` keeps the number of elements."""
        given = self.values(expr, name, ("x", "dims"))
        if given is None:
            return ERROR
        found = self.tensor(given[0], name)
        shape = self.sizes_list(given[1])
        if found is None or shape is None:
            return ERROR
        if not self.check_rank(shape, given[1]):
            return ERROR
        constraint = Constraint("==", count(shape), count(found.dims))
        if not self.require(
            constraint,
            "E2203",
            f"cannot prove that [{show_dims(shape)}] has as many elements as "
            f"[{show_dims(found.dims)}]",
            expr,
        ):
            return ERROR
        self.record(expr, name, given[0])
        return Tensor(shape, found.dtype)

    def check_rank(self, shape: Dims, at: tree.Node) -> bool:
        """E1103 for an empty list of sizes."""
        if not shape:
            self.error("E1103", "tensors of rank 0 are reserved", at, "no dimension")
        return bool(shape)

    def call_permute(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`permute(x, [axes])`."""
        given = self.values(expr, name, ("x", "axes"))
        if given is None:
            return ERROR
        found = self.tensor(given[0], name)
        if found is None:
            return ERROR
        if any(isinstance(d, Pack) for d in found.dims):
            self.error(
                "E2210",
                f"`permute` needs a known rank, and {found} has a pack",
                given[0],
                "rank unknown",
                helps=("rename axes with index notation: `let y[*s, j, i] = x[*s, i, j]`",),
            )
            return ERROR
        axes = self.constants(given[1])
        if axes is None:
            return ERROR
        if sorted(axes) != list(range(len(found.dims))):
            self.error(
                "E2210",
                f"[{', '.join(map(str, axes))}] does not name each of {len(found.dims)} axes once",
                given[1],
                "not a permutation",
            )
            return ERROR
        self.record(expr, name, given[0], axes=tuple(axes))
        return Tensor(tuple(found.dims[a] for a in axes), found.dtype)

    def constants(self, node: tree.Expr) -> list[int] | None:
        """A list of integer constants, or None after an error."""
        if not isinstance(node, tree.ListExpr):
            self.error("E2102", "expected a list of axes such as `[1, 0]`", node, "not a list")
            return None
        found: list[int] = []
        for item in node.items:
            value = self.constant_integer(item)
            if value is None:
                return None
            found.append(value)
        return found

    def constant_integer(self, node: tree.Expr) -> int | None:
        """An axis; None after an error."""
        if isinstance(node, tree.PackUse):
            self.error("E2210", "an axis is a constant", node, "a pack")
            return None
        p = self.size(node)
        if p is None:
            return None
        constant = self.facts.simplify(p).constant
        if constant is None:
            self.error("E2210", f"an axis is a constant, not `{p}`", node, "not a constant")
        return constant

    def call_broadcast(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`broadcast_to(x, [dims])`; a scalar too."""
        given = self.values(expr, name, ("x", "dims"))
        if given is None:
            return ERROR
        found = self.number(given[0], name)
        shape = self.sizes_list(given[1])
        if found is ERROR or shape is None or not self.check_rank(shape, given[1]):
            return ERROR
        if is_literal(found):
            found = self.settle(given[0], found)
            if isinstance(found, CompileInt):
                self.coerce(given[0], found, I64)
                found = I64
        own = dims_of(found)
        result = broadcast(own, shape, self.facts)
        if isinstance(result, Clash):
            self.broadcast_error(expr, own, shape, result)
            return ERROR
        fits = len(own) <= len(shape) and all(
            self.same_or_widened(a, b)
            for a, b in zip(own, shape[len(shape) - len(own) :], strict=True)
        )
        if not fits:
            self.error(
                "E2207",
                f"[{show_dims(own)}] does not broadcast to [{show_dims(shape)}]",
                expr,
                "an axis is lost",
            )
            return ERROR
        dtype = dtype_of(found)
        assert dtype is not None
        self.record(expr, name, given[0])
        return Tensor(shape, dtype)

    def same_or_widened(self, own: Dim, wanted: Dim) -> bool:
        """Whether an axis stays or grows from 1."""
        if isinstance(own, Pack) or isinstance(wanted, Pack):
            return own is wanted
        return own.constant == 1 or self.facts.equal(own, wanted)

    def axis_argument(self, expr: tree.Call, name: str, found: Tensor) -> int | None:
        """The required keyword `axis`, counted from the front; None after an error.

        The result counts from the back (negative) where a pack lies before the axis.
        """
        named = [a for a in expr.arguments if a.name is not None and a.name.text == "axis"]
        if not named:
            self.error(
                "E2102",
                f"`{name}` needs `axis = ...`",
                expr,
                "no axis",
                helps=("write `axis = -1`",),
            )
            return None
        value = self.constant_integer(named[0].value)
        if value is None:
            return None
        rank = len(found.dims)
        position = value if value >= 0 else rank + value
        packs = [i for i, d in enumerate(found.dims) if isinstance(d, Pack)]
        counted = range(position + 1) if value >= 0 else range(max(position, 0), rank)
        blocked = any(i in counted for i in packs)
        if blocked or not 0 <= position < rank:
            self.error(
                "E2210",
                f"{found} has no axis {value}"
                if not blocked
                else "the axis is counted over a pack",
                named[0],
                "bad axis",
                helps=("count from the other side",) if blocked else (),
            )
            return None
        return value

    def call_concat(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`concat(a, b, ..., axis = k)`."""
        tensors = [a for a in expr.arguments if a.name is None]
        odd = [a for a in expr.arguments if a.name is not None and a.name.text != "axis"]
        if odd or not tensors:
            self.error("E2102", "`concat` takes tensors and `axis = ...`", expr, "bad arguments")
            return ERROR
        found = [self.tensor(a.value, name) for a in tensors]
        if None in found:
            return ERROR
        types = [t for t in found if t is not None]
        first = types[0]
        axis = self.axis_argument(expr, name, first)
        if axis is None:
            return ERROR
        pairs: list[tuple[tree.Expr, Type]] = [
            (a.value, t) for a, t in zip(tensors, types, strict=True)
        ]
        if not self.same_dtype(expr, *pairs):
            return ERROR
        total: Poly = ZERO
        position = axis if axis >= 0 else len(first.dims) + axis
        for argument, t in zip(tensors, types, strict=True):
            others_match = len(t.dims) == len(first.dims) and all(
                i == position or self.same_dim(a, b)
                for i, (a, b) in enumerate(zip(t.dims, first.dims, strict=True))
            )
            if not others_match:
                self.error(
                    "E2202",
                    f"[{show_dims(t.dims)}] and [{show_dims(first.dims)}] differ beside axis "
                    f"{axis}",
                    argument,
                    "other axes must be equal",
                )
                return ERROR
            part = t.dims[position]
            assert isinstance(part, Poly)
            total = total + part
        self.record(expr, name, *(a.value for a in tensors), axes=(axis,))
        dims = (*first.dims[:position], self.facts.simplify(total), *first.dims[position + 1 :])
        return Tensor(dims, first.dtype)

    def same_dim(self, a: Dim, b: Dim) -> bool:
        """Whether two dimensions are provably equal."""
        if isinstance(a, Pack) or isinstance(b, Pack):
            return a is b
        return self.facts.equal(a, b)

    def call_iota(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`iota<T = i64>(n)`: 0, 1, ... n - 1."""
        dtype = self.dtype_argument(expr, name)
        given = self.values(expr, name, ("n",))
        if given is None or dtype is None:
            return ERROR
        dim = self.dimension(given[0])
        if dim is None:
            return ERROR
        if isinstance(dim, Pack):
            self.error("E2101", "`iota` takes one size", given[0], "a pack")
            return ERROR
        if isinstance(dtype, bool):
            dtype = "i64"
        if not is_numeric(dtype):
            self.error("E2112", f"`iota` makes numbers, not {dtype}", expr, "not a number")
            return ERROR
        self.record(expr, name)
        return Tensor((dim,), dtype)

    def call_fill(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`fill<T>([dims], v)`; T is inferred from a scalar that has a dtype."""
        dtype = self.dtype_argument(expr, name)
        given = self.values(expr, name, ("dims", "v"))
        if given is None or dtype is None:
            return ERROR
        shape = self.sizes_list(given[0])
        hint = None if isinstance(dtype, bool) else Scalar(dtype)
        found = self.infer(given[1], hint)
        if shape is None or found is ERROR or not self.check_rank(shape, given[0]):
            return ERROR
        if isinstance(dtype, bool):
            if not isinstance(found, Scalar):
                if not is_literal(found):
                    self.error(
                        "E2101", f"`fill` takes a scalar, not {found}", given[1], "no scalar"
                    )
                    return ERROR
                self.error(
                    "E2110",
                    "the dtype of `fill` cannot be inferred from a literal",
                    expr,
                    "which dtype?",
                    helps=("write `fill<f32>(...)`",),
                )
                return ERROR
            dtype = found.dtype
        if not self.coerce(given[1], found, Scalar(dtype)):
            return ERROR
        self.record(expr, name, given[1])
        return Tensor(shape, dtype)

    def call_cumsum(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """`cumsum(x, axis = k)`."""
        given = self.values(expr, name, ("x", "axis"))
        if given is None:
            return ERROR
        found = self.tensor(given[0], name)
        if found is None:
            return ERROR
        axis = self.axis_argument(expr, name, found)
        if axis is None:
            return ERROR
        if not is_numeric(found.dtype):
            self.error("E2112", f"`cumsum` sums numbers, not {found.dtype}", given[0], "no numbers")
            return ERROR
        self.record(expr, name, given[0], axes=(axis,))
        return found
