"""Numbers, whole tensors, index notation and structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linnet.check.definitions import FunctionDef
from linnet.check.operators import fold_floats
from linnet.check.types import FloatLiteralType, OptionalType, Scalar, Tensor, Type
from linnet.graph.bound import BindingError, Bound
from linnet.graph.builder import Builder
from linnet.graph.data import Datum, Instance, Record, Ref, source_span
from linnet.graph.elements import Element, ElementSteps
from linnet.graph.model import SourceSpan
from linnet.graph.verify import broadcast_shapes
from linnet.graph.work import GraphSizeError, Work
from linnet.ir import IRFunction, Operation, Region, lower_function
from linnet.ir.kinds import ELEMENTWISE
from linnet.source import Span


@dataclass
class World:
    """What all calls of one graph share."""

    builder: Builder
    has_parameter: Callable[[str], bool]
    has_child: Callable[[Instance], bool]
    states: dict[str, int] = field(default_factory=dict)
    first_states: dict[str, int] = field(default_factory=dict)
    functions: dict[FunctionDef, IRFunction] = field(default_factory=dict)
    work: Work = field(default_factory=Work)

    def state(self, path: str) -> int:
        """The present content of a state that was read before."""
        return self.states.get(path, self.first_states[path])

    def changed_since(self, before: Mapping[str, int]) -> dict[str, int]:
        """States whose content is another than in `before`."""
        return {
            path: number
            for path, number in self.states.items()
            if number != before.get(path, self.first_states[path])
        }

    def function(self, definition: FunctionDef) -> IRFunction:
        """The IR of a function, lowered once for a graph."""
        found = self.functions.get(definition)
        if found is None:
            found = lower_function(definition)
            self.functions[definition] = found
        return found


class TensorEvaluator:
    """Runs one call of one function."""

    def __init__(
        self, world: World, fn: IRFunction, bound: Bound, instance: Instance | None
    ) -> None:
        self.world = world
        self.builder = world.builder
        self.fn = fn
        self.bound = bound
        self.instance = instance
        self.path = instance.path if instance is not None else ""
        self.values: dict[int, Datum] = {}
        self.elements: ElementSteps | None = None
        if fn.instance is not None:
            self.values[fn.instance] = instance

    # Running

    def run(self, region: Region) -> list[Datum]:
        """Runs a region's operations; gives its results."""
        work = self.world.work
        work.enter(len(region.operations) + 1, self.builder.depth)
        for operation in region.operations:
            self.operation(operation)
        work.leave()
        return [self.values[n] for n in region.results]

    def span(self, span: Span) -> SourceSpan:
        """A span of this function's file."""
        return source_span(self.fn.module.file, span)

    def operation(self, op: Operation) -> None:
        """Runs one operation."""
        operands = [self.values[n] for n in op.operands]
        if op.kind in ELEMENTWISE:
            self.values[op.results[0]] = self.elementwise(op, operands)
            return
        method = getattr(self, f"do_{op.kind}")
        try:
            found = method(op, operands)
        except GraphSizeError as error:
            at = self.span(op.span)
            raise BindingError(f"{at.file}:{at.line}:{at.column}: {error}") from None
        if len(op.results) == 1:
            self.values[op.results[0]] = found
        elif op.results:
            for number, datum in zip(op.results, found, strict=True):
                self.values[number] = datum

    def kind_of(self, op: Operation, position: int = 0) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a result by its type."""
        return self.bound.numbers(self.fn.types[op.results[position]])

    def emit(
        self,
        op: Operation,
        kind: str,
        operands: tuple[int, ...],
        shape: tuple[int, ...],
        dtype: str,
        **attributes: Any,
    ) -> Ref:
        """One step with one result."""
        span = self.span(op.span)
        return Ref(self.builder.step(kind, operands, [(shape, dtype)], span, attributes)[0])

    def ref(self, datum: Datum, dtype: str = "i64") -> int:
        """The number of a tensor or scalar."""
        if isinstance(datum, Element):
            assert not datum.axes
            return datum.number
        if isinstance(datum, (bool, int, float)):
            return self.builder.constant(datum, dtype)
        assert isinstance(datum, Ref), datum
        return datum.number

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a graph value."""
        return self.builder.values[number].shape

    def kind(self, number: int) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a graph value."""
        value = self.builder.values[number]
        return value.shape, value.dtype

    # Numbers

    def do_constant(self, op: Operation, operands: list[Datum]) -> Datum:
        """A literal."""
        value = op.attributes["value"]
        t = self.fn.types[op.results[0]]
        if isinstance(t, FloatLiteralType):
            return float(value)
        assert isinstance(t, Scalar)
        return Ref(self.builder.constant(value, self.bound.dtype(t.dtype)))

    def do_size(self, op: Operation, operands: list[Datum]) -> Datum:
        """A compile-time integer, as a number or as a scalar of a dtype."""
        value = self.bound.size(op.attributes["size"])
        t = self.fn.types[op.results[0]]
        if isinstance(t, Scalar):
            return Ref(self.builder.constant(value, self.bound.dtype(t.dtype)))
        return value

    def elementwise(self, op: Operation, operands: list[Datum]) -> Datum:
        """Elementwise operations on literals, scalars, tensors and elements."""
        t = self.fn.types[op.results[0]]
        if op.kind == "adopt":
            return self.adopt(operands[0], t)
        if isinstance(t, FloatLiteralType):
            return literal_arithmetic(op.kind, operands)
        dtype = self.bound.dtype(t.dtype) if isinstance(t, (Scalar, Tensor)) else "i64"
        attributes = dict(op.attributes)
        first = operands[0]
        same = isinstance(first, (Ref, Element)) and self.kind(first.number)[1] == dtype
        if op.kind == "cast" and same:
            return first
        if any(isinstance(d, Element) and d.axes for d in operands):
            assert self.elements is not None
            self.elements.span = self.span(op.span)
            elements = [d if isinstance(d, Element) else Element(self.ref(d), ()) for d in operands]
            return self.elements.elementwise(op.kind, elements, dtype, attributes)
        numbers = tuple(
            self.builder.constant(d, "i64") if isinstance(d, int) else self.ref(d) for d in operands
        )
        if op.kind == "cast":
            known = self.builder.literals.get(numbers[0])
            is_integer = isinstance(known, int) and not isinstance(known, bool)
            if known is not None and is_integer and dtype in ("f16", "bf16", "f32", "f64"):
                return Ref(self.builder.constant(known, dtype))
        shape = broadcast_shapes(*(self.shape(n) for n in numbers))
        assert shape is not None
        return self.emit(op, op.kind, numbers, shape, dtype, **attributes)

    def adopt(self, datum: Datum, t: Type) -> Datum:
        """A literal takes a dtype."""
        if isinstance(t, OptionalType):
            return None if datum is None else self.adopt(datum, t.inner)
        if isinstance(datum, (int, float)) and isinstance(t, Scalar):
            return Ref(self.builder.constant(datum, self.bound.dtype(t.dtype)))
        return datum

    # Whole tensors

    def do_reshape(self, op: Operation, operands: list[Datum]) -> Datum:
        """`reshape`."""
        number = self.ref(operands[0])
        shape, dtype = self.kind_of(op)
        if self.shape(number) == shape:
            return Ref(number)
        return self.emit(op, "reshape", (number,), shape, dtype)

    def do_permute(self, op: Operation, operands: list[Datum]) -> Datum:
        """`permute`."""
        shape, dtype = self.kind_of(op)
        axes = op.attributes["axes"]
        return self.emit(op, "permute", (self.ref(operands[0]),), shape, dtype, axes=axes)

    def do_broadcast(self, op: Operation, operands: list[Datum]) -> Datum:
        """`broadcast_to`."""
        shape, dtype = self.kind_of(op)
        number = self.ref(operands[0])
        if self.shape(number) == shape:
            return Ref(number)
        return self.emit(op, "broadcast", (number,), shape, dtype)

    def do_concat(self, op: Operation, operands: list[Datum]) -> Datum:
        """`concat`."""
        shape, dtype = self.kind_of(op)
        axis = op.attributes["axis"] % len(shape)
        numbers = tuple(self.ref(d) for d in operands)
        return self.emit(op, "concat", numbers, shape, dtype, axis=axis)

    def do_fill(self, op: Operation, operands: list[Datum]) -> Datum:
        """`fill`."""
        shape, dtype = self.kind_of(op)
        return self.emit(op, "fill", (self.ref(operands[0], dtype),), shape, dtype)

    def do_iota(self, op: Operation, operands: list[Datum]) -> Datum:
        """`iota`."""
        shape, dtype = self.kind_of(op)
        return self.emit(op, "iota", (), shape, dtype)

    def do_cumsum(self, op: Operation, operands: list[Datum]) -> Datum:
        """`cumsum`."""
        shape, dtype = self.kind_of(op)
        axis = op.attributes["axis"] % len(shape)
        return self.emit(op, "cumsum", (self.ref(operands[0]),), shape, dtype, axis=axis)

    def do_slice(self, op: Operation, operands: list[Datum]) -> Datum:
        """`x[1, a:b, n]`: a slice, then dropped axes, then positions known when it runs."""
        number = self.ref(operands[0])
        source = self.shape(number)
        dtype = self.builder.values[number].dtype
        starts: list[int] = []
        stops: list[int] = []
        steps: list[int] = []
        kept: list[bool] = []
        gathered: list[tuple[int, int]] = []
        for part in op.attributes["parts"]:
            kind = part[0]
            count = len(self.bound.dims(part[1])) if kind == "whole" else 1
            for _ in range(count):
                size = source[len(starts)]
                first, last, step, keep = 0, size, 1, True
                if kind == "range":
                    first = min(self.bound.size(part[1]), size)
                    last = max(first, min(self.bound.size(part[2]), size))
                    step = part[3]
                elif kind == "constant":
                    first = self.bound.size(part[1])
                    last, keep = first + 1, False
                elif kind == "element":
                    place = sum(kept)
                    gathered.append((place, self.ref(operands[part[1]])))
                starts.append(first)
                stops.append(last)
                steps.append(step)
                kept.append(keep)
        shape = tuple(len(range(a, b, s)) for a, b, s in zip(starts, stops, steps, strict=True))
        found = Ref(number)
        if shape != source:
            found = self.emit(
                op,
                "slice",
                (number,),
                shape,
                dtype,
                starts=tuple(starts),
                stops=tuple(stops),
                steps=tuple(steps),
            )
        left = tuple(s for s, k in zip(shape, kept, strict=True) if k)
        if left != shape:
            found = self.emit(op, "reshape", (found.number,), left, dtype)
        if gathered:
            axes = tuple(place for place, _ in gathered)
            rest = tuple(s for place, s in enumerate(left) if place not in axes)
            positions = tuple(n for _, n in gathered)
            found = self.emit(op, "element", (found.number, *positions), rest, dtype, axes=axes)
        return found

    # Index notation

    def do_comprehension(self, op: Operation, operands: list[Datum]) -> Datum:
        """An index definition, or a reduction by itself."""
        outer, self.elements = self.elements, ElementSteps(self.builder, self.span(op.span))
        axes = tuple(
            axis
            for index in op.attributes["indices"]
            for axis in self.elements.declare(index.number, self.bound.dims(index.extent))
        )
        (found,) = self.run(op.regions[0])
        element = found if isinstance(found, Element) else Element(self.ref(found), ())
        self.elements.span = self.span(op.span)
        number = self.elements.whole(element, axes)
        self.elements = outer
        return Ref(number)

    def do_element(self, op: Operation, operands: list[Datum]) -> Datum:
        """`x[i, 0, ids[j]]` in index notation."""
        assert self.elements is not None
        self.elements.span = self.span(op.span)
        elements = [d if isinstance(d, Element) else Element(self.ref(d), ()) for d in operands]
        base = self.ref(operands[0])
        return self.elements.read(base, op.attributes["parts"], elements, self.bound.size)

    def do_reduce(self, op: Operation, operands: list[Datum]) -> Datum:
        """A reduction; a sum of products may become a contraction."""
        steps = self.elements
        assert steps is not None
        axes = tuple(
            axis
            for index in op.attributes["indices"]
            for axis in steps.declare(index.number, self.bound.dims(index.extent))
        )
        region = op.regions[0]
        last = region.operations[-1] if region.operations else None
        product = (
            op.attributes["reduction"] == "sum"
            and last is not None
            and last.kind == "mul"
            and last.results == region.results
        )
        if product:
            assert last is not None
            for inner in region.operations[:-1]:
                self.operation(inner)
            sides = [self.values[n] for n in last.operands]
            left, right = (d if isinstance(d, Element) else Element(self.ref(d), ()) for d in sides)
            if steps.contracts(left, right, axes):
                steps.span = self.span(op.span)
                return steps.contract(left, right, axes)
            self.operation(last)
            found: Datum = self.values[region.results[0]]
        else:
            (found,) = self.run(region)
        element = found if isinstance(found, Element) else Element(self.ref(found), ())
        steps.span = self.span(op.span)
        return steps.reduce(op.attributes["reduction"], element, axes)

    # Structure

    def do_tuple(self, op: Operation, operands: list[Datum]) -> Datum:
        """A tuple."""
        return tuple(operands)

    def do_tuple_get(self, op: Operation, operands: list[Datum]) -> Datum:
        """A part of a tuple."""
        base = operands[0]
        assert isinstance(base, tuple)
        index: int = op.attributes["index"]
        return base[index]

    def do_struct(self, op: Operation, operands: list[Datum]) -> Datum:
        """A struct."""
        return Record(dict(zip(op.attributes["fields"], operands, strict=True)))

    def do_struct_get(self, op: Operation, operands: list[Datum]) -> Datum:
        """A field."""
        base = operands[0]
        assert isinstance(base, Record)
        return base.fields[op.attributes["field"]]

    def do_some(self, op: Operation, operands: list[Datum]) -> Datum:
        """A present optional is its value."""
        return operands[0]

    def do_none(self, op: Operation, operands: list[Datum]) -> Datum:
        """An absent optional."""
        return None

    def do_enum(self, op: Operation, operands: list[Datum]) -> Datum:
        """A variant is its position among the variants, an i64."""
        return Ref(self.builder.constant(op.attributes["index"], "i64"))


def literal_arithmetic(kind: str, operands: list[Datum]) -> float:
    """Arithmetic on float literals and sizes, in doubles."""
    numbers = [float(d) for d in operands if isinstance(d, (int, float))]
    if kind == "neg":
        return -numbers[0]
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%"}
    return fold_floats(signs[kind], numbers[0], numbers[1])
