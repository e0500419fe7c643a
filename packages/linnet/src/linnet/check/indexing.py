"""Indexing: slices of tensors, index notation, reductions."""

from __future__ import annotations

from linnet.check.expressions import IndexFrame
from linnet.check.operators import dtype_of, is_literal, shaped
from linnet.check.records import Access, IndexPart, IndexVar, SlicePart
from linnet.check.tensors import PreludeChecker
from linnet.check.types import (
    ERROR,
    I64,
    ArrayType,
    CompileInt,
    Dim,
    Dims,
    FloatLiteralType,
    Scalar,
    Tensor,
    Type,
    is_integer,
    is_numeric,
    show_dims,
)
from linnet.shapes import ZERO, Constraint, Pack, Poly, floordiv, maximum, minimum, number
from linnet.syntax import tree


class IndexChecker(PreludeChecker):
    """Types of `base[...]`, index definitions and reductions."""

    def infer_index(self, expr: tree.Index, expected: Type | None) -> Type:
        """An element in index notation, a slice outside it, or a block of an array."""
        frame, self.frame = self.frame, None
        if frame is not None:
            self.hidden_frames.append(frame)
        base = self.infer(expr.base)
        if frame is not None:
            self.hidden_frames.pop()
            self.frame = frame
        if isinstance(base, ArrayType):
            return self.array_element(expr, base)
        if base is ERROR:
            if frame is not None:
                self.touch(expr)
            else:
                self.infer_components(expr)
            return ERROR
        if not isinstance(base, Tensor):
            self.error("E2104", f"{base} cannot be indexed", expr.base, "not a tensor")
            return ERROR
        if frame is not None:
            return self.access(expr, base)
        return self.slice(expr, base)

    def touch(self, expr: tree.Index) -> None:
        """Counts the indices of a broken access as used, to report nothing more about them."""
        assert self.frame is not None
        for part in expr.components:
            name = part.text if isinstance(part, tree.Name) else ""
            name = part.name if isinstance(part, tree.PackUse) else name
            found = self.frame.find(name)
            if found is not None:
                found.used = True
                found.extent = found.extent or None
            elif name:
                self.frame.missing.add(name)

    def infer_components(self, expr: tree.Index) -> None:
        """Looks into the components of an index that is wrong anyway."""
        for part in expr.components:
            if isinstance(part, (tree.Name, tree.Binary, tree.Call)):
                self.infer(part)

    def array_element(self, expr: tree.Index, base: ArrayType) -> Type:
        """`blocks[0]`."""
        if len(expr.components) != 1:
            self.error("E2204", "a block array has one index", expr, "wrong number of indices")
            return ERROR
        node = expr.components[0]
        if isinstance(node, (tree.Slice, tree.Ellipsis, tree.PackUse)):
            self.error("E2209", "a block array is indexed by an integer", node, "not an integer")
            return ERROR
        found = self.infer(node)
        if isinstance(found, CompileInt):
            position = found.poly
        else:
            local = self.records.names.get(node)
            size = getattr(local, "size", None)
            if found is ERROR:
                return ERROR
            if not isinstance(size, Poly):
                self.error(
                    "E2123",
                    "a block array is indexed by a compile-time integer",
                    node,
                    f"this is {found}",
                    helps=("walk it with `static for block in blocks`",),
                )
                return ERROR
            position = size
        if not self.in_range(position, base.size, node):
            return ERROR
        self.records.slices[expr] = (SlicePart("constant", start=position),)
        return base.element

    def in_range(self, position: Poly, extent: Dim, at: tree.Node) -> bool:
        """E2209 unless 0 <= position < extent is proved."""
        message = f"the index `{position}` is not proved to be inside the axis of size {extent}"
        if isinstance(extent, Pack):
            self.error("E2209", "an axis inside a pack cannot be indexed", at, "a pack")
            return False
        return self.require(
            Constraint(">=", position, ZERO), "E2209", message, at
        ) and self.require(Constraint("<", position, extent), "E2209", message, at)

    # Slices

    def slice(self, expr: tree.Index, base: Tensor) -> Type:
        """`x[1, a:b, ..., n]`."""
        parts = expr.components
        dots = [i for i, p in enumerate(parts) if isinstance(p, tree.Ellipsis)]
        for part in parts:
            if isinstance(part, tree.PackUse):
                self.error(
                    "E3104",
                    f"`*{part.name}` is an index of index notation only",
                    part,
                    "no index here",
                )
                return ERROR
        if len(dots) > 1:
            self.error("E2204", "an index has at most one `...`", parts[dots[1]], "a second one")
            return ERROR
        rank, given = len(base.dims), len(parts) - len(dots)
        packs = any(isinstance(d, Pack) for d in base.dims)
        if given > rank or (not dots and packs and given > self.front(base)):
            self.error(
                "E2204",
                f"{given} indices for the {rank} axes of {base}",
                expr,
                "too many" if given > rank else "an axis inside a pack cannot be indexed",
            )
            self.infer_components(expr)
            return ERROR
        at = dots[0] if dots else len(parts)
        spread: list[tree.Expr | None] = [
            *parts[:at],
            *([None] * (rank - given)),
            *parts[at + len(dots) :],
        ]
        taken: list[SlicePart] = []
        dims: list[Dim] = []
        ok = True
        for dim, component in zip(base.dims, spread, strict=True):
            if component is None:
                taken.append(SlicePart("whole", (dim,)))
                dims.append(dim)
                continue
            found = self.slice_part(component, dim)
            if found is None:
                ok = False
                continue
            taken.append(found)
            if found.kind in ("whole", "range"):
                dims.append(found.dims[0])
        if not ok:
            return ERROR
        self.records.slices[expr] = tuple(taken)
        return shaped(tuple(dims), base.dtype)

    def front(self, base: Tensor) -> int:
        """How many axes lie before the first pack."""
        return next((i for i, d in enumerate(base.dims) if isinstance(d, Pack)), len(base.dims))

    def slice_part(self, part: tree.Expr, dim: Dim) -> SlicePart | None:
        """One component over one axis; None after an error."""
        if isinstance(dim, Pack):
            self.error("E2209", "an axis inside a pack cannot be indexed", part, "a pack")
            return None
        if isinstance(part, tree.Slice):
            return self.slice_range(part, dim)
        found = self.infer(part)
        if isinstance(found, CompileInt):
            if not self.in_range(found.poly, dim, part):
                return None
            return SlicePart("constant", start=found.poly)
        if isinstance(found, Scalar) and is_integer(found.dtype):
            local = self.records.names.get(part)
            size = getattr(local, "size", None)
            if isinstance(size, Poly):
                return SlicePart("constant", start=size) if self.in_range(size, dim, part) else None
            return SlicePart("element", element=part)
        if found is not ERROR:
            self.error("E2209", f"an index is an integer, not {found}", part, "not an integer")
        return None

    def slice_range(self, part: tree.Slice, dim: Poly) -> SlicePart | None:
        """`a:b:s` has the extent max(0, (min(b, D) - a + s - 1) / s); `:` is the whole axis."""
        if part.start is None and part.stop is None and part.step is None:
            return SlicePart("whole", (dim,))
        start = ZERO if part.start is None else self.slice_bound(part.start)
        stop = dim if part.stop is None else self.slice_bound(part.stop)
        step = 1
        if part.step is not None:
            bound = self.slice_bound(part.step)
            if bound is None:
                return None
            constant = self.facts.simplify(bound).constant
            if constant is None or constant < 1:
                self.error("E2209", "a step is a positive constant", part.step, "not positive")
                return None
            step = constant
        if start is None or stop is None:
            return None
        stop = self.facts.simplify(minimum(stop, dim))
        size = floordiv(stop - start + number(step - 1), number(step))
        extent = self.facts.simplify(maximum(ZERO, self.facts.simplify(size)))
        return SlicePart("range", (extent,), start, stop, step)

    def slice_bound(self, node: tree.Expr) -> Poly | None:
        """A non-negative compile-time integer; None after E2209."""
        found = self.infer(node)
        local = self.records.names.get(node)
        size = found.poly if isinstance(found, CompileInt) else getattr(local, "size", None)
        if not isinstance(size, Poly):
            if found is not ERROR:
                self.error(
                    "E2209",
                    "bounds of a slice are compile-time integers",
                    node,
                    f"this is {found}",
                    helps=("take single positions with an integer, or select by a mask",),
                )
            return None
        if size.constant is not None and size.constant < 0:
            back = "positions count from the front: write the axis's size, then subtract"
            self.error("E2209", f"the bound `{size}` is negative", node, "negative", helps=(back,))
            return None
        message = f"the bound `{size}` may be negative"
        return size if self.require(Constraint(">=", size, ZERO), "E2209", message, node) else None

    # Index notation

    def access(self, expr: tree.Index, base: Tensor) -> Type:
        """`x[i, 0, ids[j], *s]`: one component for every axis."""
        assert self.frame is not None
        parts = expr.components
        stars = [i for i, p in enumerate(parts) if isinstance(p, tree.PackUse)]
        bad = next((p for p in parts if isinstance(p, (tree.Slice, tree.Ellipsis))), None)
        if bad is not None:
            self.error("E3104", "slices are not valid in index notation", bad, "index the axis")
            self.touch(expr)
            return ERROR
        rank = len(base.dims)
        if len(stars) > 1:
            return self.wrong_count(expr, base, "at most one pack index")
        if len(parts) - len(stars) > rank or (not stars and len(parts) != rank):
            return self.wrong_count(expr, base, f"{len(parts)} indices for {rank} axes")
        if stars:
            at = stars[0]
            width = rank - len(parts) + 1
            groups = [
                *((d,) for d in base.dims[:at]),
                base.dims[at : at + width],
                *((d,) for d in base.dims[at + width :]),
            ]
        else:
            groups = [(d,) for d in base.dims]
        found: list[IndexPart] = []
        ok = True
        for part, dims in zip(parts, groups, strict=True):
            one = self.access_part(part, tuple(dims))
            if one is None:
                ok = False
            else:
                found.append(one)
        if not ok:
            return ERROR
        self.records.accesses[expr] = Access(tuple(found))
        return Scalar(base.dtype)

    def wrong_count(self, expr: tree.Index, base: Tensor, label: str) -> Type:
        """E2204."""
        self.error("E2204", f"every axis of {base} is indexed once", expr, label)
        self.touch(expr)
        return ERROR

    def access_part(self, part: tree.Expr, dims: Dims) -> IndexPart | None:
        """One component of an access; None after an error."""
        assert self.frame is not None
        if isinstance(part, tree.PackUse):
            index = self.frame.find(part.name)
            if index is None:
                self.no_index(part.name, part)
                return None
            if not index.pack:
                self.error("E3106", f"`{part.name}` is a plain index", part, "drop `*`")
                return None
            return self.use_index(index, dims, part)
        if isinstance(part, tree.Name):
            index = self.frame.find(part.text)
            if index is not None:
                if index.pack:
                    self.error(
                        "E3106", f"`{part.text}` is a pack index", part, f"write `*{part.text}`"
                    )
                    index.used = True
                    return None
                if isinstance(dims[0], Pack):
                    self.error(
                        "E3106",
                        f"`{part.text}` is a plain index on the pack {dims[0]}",
                        part,
                        "a pack",
                    )
                    index.used = True
                    return None
                return self.use_index(index, dims, part)
            if self.unbound_index(part.text):
                self.no_index(part.text, part)
                return None
        if isinstance(dims[0], Pack):
            self.error("E2204", "an axis inside a pack cannot be indexed", part, "a pack")
            return None
        found = self.infer(part)
        if isinstance(found, CompileInt):
            ok = self.in_range(found.poly, dims[0], part)
            return IndexPart(constant=found.poly) if ok else None
        if isinstance(found, Scalar) and is_integer(found.dtype):
            local = self.records.names.get(part)
            size = getattr(local, "size", None)
            if isinstance(size, Poly):
                return IndexPart(constant=size) if self.in_range(size, dims[0], part) else None
            return IndexPart(element=part)
        if found is not ERROR:
            self.error("E2209", f"an index is an integer, not {found}", part, "not an integer")
        return None

    def unbound_index(self, name: str) -> bool:
        """Whether a name in an index position means nothing but an index."""
        if self.local(name) is not None or name in self.generics:
            return False
        if self.block is not None and name in self.block.members:
            return False
        return self.item(name) is None

    def no_index(self, name: str, at: tree.Node) -> None:
        """E3101, once per name."""
        assert self.frame is not None
        if name not in self.frame.missing:
            self.frame.missing.add(name)
            self.error(
                "E3101",
                f"the index `{name}` is neither an output nor reduced",
                at,
                "unknown index",
                helps=(f"sum over it: `sum[{name}] ...`",),
            )

    def use_index(self, index: IndexVar, dims: Dims, at: tree.Node) -> IndexPart | None:
        """Gives the index its extent, or checks that this use agrees with it."""
        index.used = True
        if index.extent is None:
            index.extent = dims
            return IndexPart(index=index)
        if not self.same_extent(index.extent, dims):
            notes: list[str] = []
            if len(dims) == 1 and len(index.extent) == 1:
                a, b = index.extent[0], dims[0]
                if isinstance(a, Poly) and isinstance(b, Poly):
                    from linnet.check.session import example_notes
                    from linnet.shapes import counterexample

                    notes += example_notes(counterexample(self.facts, Constraint("==", a, b)))
            self.error(
                "E2201",
                f"the index `{index.name}` has the extents [{show_dims(index.extent)}] and "
                f"[{show_dims(dims)}], not provably equal",
                at,
                f"here it is [{show_dims(dims)}]",
                notes=notes,
            )
            return None
        return IndexPart(index=index)

    def same_extent(self, a: Dims, b: Dims) -> bool:
        """Whether two extents are provably equal."""
        return len(a) == len(b) and all(self.same_dim(x, y) for x, y in zip(a, b, strict=True))

    def new_indices(self, nodes: tuple[tree.IndexName, ...]) -> list[IndexVar]:
        """Declares indices; E3105 for those that are there already."""
        assert self.frame is not None
        found: list[IndexVar] = []
        for node in nodes:
            taken = self.frame.find(node.text) or any(i.name == node.text for i in found)
            if taken:
                self.error("E3105", f"the index `{node.text}` is declared twice", node, "again")
                continue
            found.append(IndexVar(node.text, node.pack, node))
        self.frame.indices += found
        return found

    def infer_reduction(self, expr: tree.Reduction, expected: Type | None) -> Type:
        """`sum<T>[i, j] body`."""
        outer = self.frame
        if outer is None:
            self.frame = IndexFrame()
        assert self.frame is not None
        indices = self.new_indices(expr.indices)
        missing = set(self.frame.missing)
        body = self.infer(expr.body)
        for index in indices:
            self.frame.indices.remove(index)
            if not index.used and body is not ERROR:
                self.error(
                    "E3102",
                    f"the index `{index.name}` is reduced but not used",
                    index.node,
                    "unused",
                )
                body = ERROR
        self.frame.missing = missing
        self.frame = outer
        self.records.indices[expr] = tuple(indices)
        return self.reduced(expr, body)

    def reduced(self, expr: tree.Reduction, body: Type) -> Type:
        """The dtype of a reduction."""
        dtype = self.dtype(expr.dtype) if expr.dtype is not None else None
        if body is ERROR or (expr.dtype is not None and dtype is None):
            return ERROR
        if is_literal(body):
            wanted: Type = (
                Scalar(dtype)
                if dtype is not None
                else I64
                if isinstance(body, CompileInt)
                else Scalar("f64")
            )
            if not self.coerce(expr.body, body, wanted):
                return ERROR
            body = wanted
        own = dtype_of(body)
        if own is None or not isinstance(body, Scalar):
            self.error(
                "E2104", f"`{expr.kind}` reduces scalars, not {body}", expr.body, "no scalar"
            )
            return ERROR
        logical = expr.kind in ("any", "all")
        if logical != (own == "bool") or not (logical or is_numeric(own)):
            what = "bools" if logical else "numbers"
            self.error(
                "E2104", f"`{expr.kind}` reduces {what}, not {own}", expr.body, f"{own} here"
            )
            return ERROR
        if dtype is not None and dtype != own:
            self.error(
                "E2103",
                f"`{expr.kind}<{dtype}>` accumulates {dtype}, but its body is {own}",
                expr.body,
                f"this is {own}",
                helps=(f"convert the elements: `cast<{dtype}>(...)`",),
            )
            return ERROR
        return body

    def index_definition(self, node: tree.IndexDefinition) -> Type:
        """`let y[i, j] = ...`."""
        outer, self.frame = self.frame, IndexFrame()
        frame = self.frame
        before = len(self.session.diagnostics)
        indices = self.new_indices(node.indices)
        if isinstance(node.value, tree.ScanExpr):
            self.error("E3104", "a loop is not valid in index notation", node.value, "a loop")
            self.frame = outer
            return ERROR
        found = self.infer(node.value)
        self.frame = outer
        if found is ERROR or frame.missing or len(self.session.diagnostics) > before:
            return ERROR
        for index in indices:
            if not index.used:
                self.error(
                    "E3103", f"the output index `{index.name}` is not used", index.node, "unused"
                )
                return ERROR
        if is_literal(found):
            found = self.settle(node.value, found)
            if isinstance(found, (CompileInt, FloatLiteralType)):
                self.coerce(node.value, found, I64)
                found = I64
        dtype = dtype_of(found)
        if dtype is None or not isinstance(found, Scalar):
            self.error("E3104", f"an element is a scalar, not {found}", node.value, "no scalar")
            return ERROR
        self.records.indices[node] = tuple(indices)
        dims = tuple(d for index in indices for d in index.extent or ())
        return shaped(dims, dtype)
