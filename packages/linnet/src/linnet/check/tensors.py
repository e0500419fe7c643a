"""Calls of prelude functions on whole tensors."""

from __future__ import annotations

from linnet.check.definitions import ModuleScope
from linnet.check.operators import Clash, broadcast, dims_of, dtype_of, is_literal
from linnet.check.prelude import ElementPreludeChecker
from linnet.check.session import Session
from linnet.check.types import (
    ERROR,
    Dim,
    Dims,
    Scalar,
    Tensor,
    Type,
    count,
    is_numeric,
    show_dims,
)
from linnet.shapes import ZERO, Constraint, Pack, Poly
from linnet.syntax import tree


class PreludeChecker(ElementPreludeChecker):
    """Types of `reshape`, `permute`, `concat` and their like."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        super().__init__(session, module)
        self._preludes |= {
            "reshape": self.call_reshape,
            "permute": self.call_permute,
            "broadcast_to": self.call_broadcast,
            "concat": self.call_concat,
            "iota": self.call_iota,
            "fill": self.call_fill,
            "cumsum": self.call_cumsum,
        }

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
            found = self.settle_number(given[0], found)
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
