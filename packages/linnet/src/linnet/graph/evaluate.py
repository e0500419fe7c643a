"""Runs IR at a binding of all sizes, emitting graph steps: calls inline, static loops unroll."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from linnet.check.definitions import BlockDef, FunctionDef
from linnet.check.types import (
    ArrayType,
    BlockType,
    FloatLiteralType,
    OptionalType,
    Scalar,
    Tensor,
    Type,
)
from linnet.graph.bound import Bound
from linnet.graph.builder import Builder
from linnet.graph.elements import Element, ElementSteps
from linnet.graph.model import Argument, Body, Call, SourceSpan, Tree
from linnet.graph.verify import broadcast_shapes
from linnet.ir import IRFunction, Operation, Region, lower_function
from linnet.ir.kinds import ELEMENTWISE
from linnet.source import SourceFile, Span


@dataclass(frozen=True)
class Ref:
    """A graph value."""

    number: int


@dataclass(frozen=True)
class Instance:
    """A block instance: its path, and its block's generics."""

    block: BlockDef
    bound: Bound
    path: str

    def child(self, name: str) -> str:
        """The path of a member."""
        return f"{self.path}.{name}" if self.path else name


@dataclass(frozen=True)
class ArrayInstance:
    """The instances of a block array."""

    items: tuple[Instance, ...]


@dataclass(frozen=True)
class Record:
    """A struct's fields."""

    fields: Mapping[str, Datum]


# None is an absent optional; int and float are values known while the graph is made.
Datum: TypeAlias = (
    "Ref | Element | Instance | ArrayInstance | Record | tuple[Datum, ...] | int | float | None"
)


@dataclass
class World:
    """What all calls of one graph share."""

    builder: Builder
    has_parameter: Any
    has_child: Any
    states: dict[str, int] = field(default_factory=dict)
    first_states: dict[str, int] = field(default_factory=dict)
    functions: dict[FunctionDef, IRFunction] = field(default_factory=dict)

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


class Evaluator:
    """Runs one call of one function."""

    def __init__(
        self, world: World, fn: IRFunction, bound: Bound, instance: Instance | None
    ) -> None:
        self.world = world
        self.builder = world.builder
        self.fn = fn
        self.bound = bound
        self.instance = instance
        self.values: dict[int, Datum] = {}
        self.elements: ElementSteps | None = None
        if fn.instance is not None:
            self.values[fn.instance] = instance

    # Running

    def run(self, region: Region) -> list[Datum]:
        """Runs a region's operations; gives its results."""
        for operation in region.operations:
            self.operation(operation)
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
        found = method(op, operands)
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
        return base[op.attributes["index"]]

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

    # Branches and loops

    def do_if(self, op: Operation, operands: list[Datum]) -> Datum:
        """A branch; decided here when the condition is known."""
        number = self.ref(operands[0])
        known = self.builder.literals.get(number)
        if known is not None:
            return self.run(op.regions[0 if known else 1])[0]
        arms = [self.branch(region) for region in op.regions]
        return self.choose(op, number, arms)

    def branch(self, region: Region) -> tuple[Body, Datum, dict[str, int]]:
        """Runs a region as a nested body, states apart; gives the states that it changed."""
        before = dict(self.world.states)
        with self.builder.body() as (steps, calls):
            (found,) = self.run(region)
            found = self.settled(found)
            body = Body((), tuple(steps), (), tuple(calls))
        changed = self.world.changed_since(before)
        self.world.states = before
        return body, found, changed

    def settled(self, datum: Datum) -> Datum:
        """Numbers known here become constants of the graph."""
        return settled(self.builder, datum)

    def choose(
        self, op: Operation, condition: int, arms: list[tuple[Body, Datum, dict[str, int]]]
    ) -> Datum:
        """The `if` step over two arms."""
        paths = sorted({path for _, _, changed in arms for path in changed})
        outputs = []
        for _, found, changed in arms:
            states = tuple(changed.get(path, self.world.state(path)) for path in paths)
            outputs.append((*flatten(found), *states))
        kinds = [self.kind(n) for n in outputs[0]]
        bodies = tuple(
            replace(body, outputs=out) for (body, _, _), out in zip(arms, outputs, strict=True)
        )
        results = self.builder.step("if", (condition,), kinds, self.span(op.span), {}, bodies)
        values, states = results[: len(results) - len(paths)], results[len(results) - len(paths) :]
        for path, number in zip(paths, states, strict=True):
            self.write_state(path, number, op)
        return unflatten(arms[0][1], list(values))

    def kind(self, number: int) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a graph value."""
        value = self.builder.values[number]
        return value.shape, value.dtype

    def do_match(self, op: Operation, operands: list[Datum]) -> Datum:
        """A match; on optionals always decided here, on enums when the variant is known."""
        subject = operands[0]
        cases = op.attributes["cases"]
        t = self.fn.types[op.operands[0]]
        if isinstance(t, OptionalType):
            wanted = "none" if subject is None else "some"
            chosen = next(i for i, case in enumerate(cases) if case in (wanted, "_"))
            region = op.regions[chosen]
            for param in region.params:
                self.values[param] = subject
            return self.run(region)[0]
        number = self.ref(subject)
        known = self.builder.literals.get(number)
        if known is not None:
            chosen = next(i for i, case in enumerate(cases) if case in (known, "_"))
            return self.run(op.regions[chosen])[0]
        return self.enum_match(op, number, list(zip(cases, op.regions, strict=True)))

    def enum_match(self, op: Operation, number: int, arms: list[tuple[str | int, Region]]) -> Datum:
        """A chain of `if` steps, one for each arm but the last."""
        case, region = arms[0]
        if case == "_" or len(arms) == 1:
            return self.run(region)[0]
        variant = self.builder.constant(case, "i64")  # type: ignore[arg-type]
        test = self.emit(op, "compare", (number, variant), (), "bool", comparison="eq")
        first = self.branch(region)
        before = dict(self.world.states)
        with self.builder.body() as (steps, calls):
            rest = self.settled(self.enum_match(op, number, arms[1:]))
            body = Body((), tuple(steps), (), tuple(calls))
        changed = self.world.changed_since(before)
        self.world.states = before
        return self.choose(op, test.number, [first, (body, rest, changed)])

    def do_static_for(self, op: Operation, operands: list[Datum]) -> Any:
        """Unrolled."""
        region = op.regions[0]
        items: list[Datum]
        if op.attributes["start"] is None:
            array = operands[0]
            assert isinstance(array, ArrayInstance)
            items, carried = list(array.items), operands[1:]
        else:
            first, last = (
                self.bound.size(op.attributes["start"]),
                self.bound.size(op.attributes["stop"]),
            )
            items = [Ref(self.builder.constant(i, "i64")) for i in range(first, last)]
            carried = operands
        for item in items:
            for param, datum in zip(region.params, [item, *carried], strict=True):
                self.values[param] = datum
            carried = self.run(region)
        return carried[0] if len(op.results) == 1 else carried

    def loop_body(
        self, region: Region, counter: bool, carried: list[Datum], paths: list[str]
    ) -> tuple[Body, list[Datum], set[str]]:
        """Runs a loop's body once on placeholders; gives its results and the states it changed."""
        before = dict(self.world.states)
        inputs: list[int] = []
        if counter:
            inputs.append(self.builder.value((), "i64", "body"))
            self.values[region.params[0]] = Ref(inputs[0])
        for param, datum in zip(region.params[1 if counter else 0 :], carried, strict=True):
            numbers = [self.builder.value(*self.kind(n), "body") for n in flatten(datum)]
            inputs += numbers
            self.values[param] = unflatten(datum, list(numbers))
        for path in paths:
            number = self.builder.value(*self.kind(self.world.state(path)), "body", path)
            inputs.append(number)
            self.world.states[path] = number
        held = dict(self.world.states)
        with self.builder.body() as (steps, calls):
            found = [self.settled(d) for d in self.run(region)]
            body = Body(tuple(inputs), tuple(steps), (), tuple(calls))
        changed = set(self.world.changed_since(held))
        ends = tuple(self.world.state(p) for p in paths)
        self.world.states = before
        flat = tuple(n for d in found for n in flatten(d))
        split = len(carried)
        head = tuple(n for d in found[:split] for n in flatten(d))
        tail = flat[len(head) :]
        return replace(body, outputs=(*head, *ends, *tail)), found, changed

    def stable_body(
        self, region: Region, counter: bool, carried: list[Datum]
    ) -> tuple[Body, list[Datum], list[str]]:
        """A loop's body with every state that it changes carried."""
        paths: list[str] = []
        while True:
            body, found, changed = self.loop_body(region, counter, carried, paths)
            missing = changed - set(paths)
            if not missing:
                return body, found, paths
            paths = sorted({*paths, *missing})

    def do_scan(self, op: Operation, operands: list[Datum]) -> Any:
        """A loop of known length; what it yields is stacked."""
        operands = [self.settled(d) for d in operands]
        first, last = (
            self.bound.size(op.attributes["start"]),
            self.bound.size(op.attributes["stop"]),
        )
        body, found, paths = self.stable_body(op.regions[0], True, operands)
        starts = [n for d in operands for n in flatten(d)]
        starts += [self.world.state(p) for p in paths]
        kinds = [self.kind(n) for n in starts]
        kinds += [
            ((last - first, *shape), dtype)
            for shape, dtype in (self.kind(n) for n in body.outputs[len(starts) :])
        ]
        attributes = {"start": first, "stop": last}
        results = list(
            self.builder.step("scan", tuple(starts), kinds, self.span(op.span), attributes, (body,))
        )
        carried = [unflatten(d, results) for d in operands]
        for path in paths:
            self.write_state(path, results.pop(0), op)
        if op.attributes["yields"]:
            carried.append(unflatten(found[-1], results))
        return carried[0] if len(op.results) == 1 else carried

    def do_while(self, op: Operation, operands: list[Datum]) -> Any:
        """A loop whose condition is known when it runs."""
        operands = [self.settled(d) for d in operands]
        body, _, paths = self.stable_body(op.regions[1], False, operands)
        condition, test, _ = self.loop_body(op.regions[0], False, operands, paths)
        condition = replace(condition, outputs=flatten(test[0]))
        starts = [n for d in operands for n in flatten(d)]
        starts += [self.world.state(p) for p in paths]
        kinds = [self.kind(n) for n in starts]
        bodies = (condition, body)
        results = list(
            self.builder.step("while", tuple(starts), kinds, self.span(op.span), {}, bodies)
        )
        carried = [unflatten(d, results) for d in operands]
        for path in paths:
            self.write_state(path, results.pop(0), op)
        return carried[0] if len(op.results) == 1 else carried

    # Blocks

    def do_param(self, op: Operation, operands: list[Datum]) -> Datum:
        """Reads a parameter, buffer or state of an instance."""
        instance = operands[0]
        assert isinstance(instance, Instance)
        member = instance.block.members[op.attributes["member"]]
        path = instance.child(member.name)
        t = member.type
        if member.kind == "state":
            return Ref(self.read_state(path, instance.bound, t))
        if isinstance(t, OptionalType):
            if not self.world.has_parameter(path):
                return None
            t = t.inner
        shape, dtype = instance.bound.numbers(t)
        return Ref(self.parameter(path, member.kind, shape, dtype, member.optional))

    def parameter(
        self, path: str, kind: str, shape: tuple[int, ...], dtype: str, optional: bool
    ) -> int:
        """The value of a parameter or buffer, made on first use."""
        from linnet.graph.model import Parameter

        known = self.builder.parameters.get(path)
        if known is None:
            origin = "buffer" if kind == "buffer" else "parameter"
            number = self.builder.value(shape, dtype, origin, path)
            known = Parameter(path, number, kind, shape, dtype, optional)
            self.builder.parameters[path] = known
        return known.value

    def read_state(self, path: str, bound: Bound, t: Type) -> int:
        """The present content of a state."""
        if path not in self.world.first_states:
            number = self.builder.value(*bound.numbers(t), "state", path)
            self.world.first_states[path] = number
        return self.world.state(path)

    def do_state_write(self, op: Operation, operands: list[Datum]) -> None:
        """Assigns a state."""
        instance = operands[0]
        assert isinstance(instance, Instance)
        path = instance.child(op.attributes["member"])
        member = instance.block.members[op.attributes["member"]]
        self.read_state(path, instance.bound, member.type)
        self.write_state(path, self.ref(operands[1]), op)

    def write_state(self, path: str, number: int, op: Operation) -> None:
        """The state's content from here on; a step of the graph itself only."""
        self.world.states[path] = number
        if self.builder.depth == 0:
            self.builder.step("state_write", (number,), [], self.span(op.span), {"state": path})

    def do_child(self, op: Operation, operands: list[Datum]) -> Datum:
        """A child, an array of children, or an absent child."""
        instance = operands[0]
        assert isinstance(instance, Instance)
        member = instance.block.members[op.attributes["member"]]
        return child_of(instance, member.name, member.type, self.world.has_child)

    def do_array_get(self, op: Operation, operands: list[Datum]) -> Datum:
        """A child of an array by its position."""
        array = operands[0]
        assert isinstance(array, ArrayInstance)
        return array.items[self.bound.size(op.attributes["index"])]

    # Calls

    def do_call(self, op: Operation, operands: list[Datum]) -> Datum:
        """Inlines a call and marks it."""
        definition: FunctionDef = op.attributes["callee"]
        callee = self.world.function(definition)
        instance: Instance | None = None
        if definition.block is not None:
            first = operands.pop(0)
            assert isinstance(first, Instance)
            instance = first
        bound = instance.bound.copy() if instance is not None else Bound()
        for generic in definition.generics:
            value = self.bound.argument(op.attributes["bindings"][generic.name])
            bound.bind(generic.key, value)
        inner = Evaluator(self.world, callee, bound, instance)
        for param, given in zip(callee.params, op.attributes["given"], strict=True):
            if given:
                datum = operands.pop(0)
                inner.values[param.value] = (
                    Ref(datum.number) if isinstance(datum, Element) else datum
                )
            else:
                assert param.default is not None
                inner.values[param.value] = inner.run(param.default)[0]
        path = (
            instance.path if instance is not None else (self.instance.path if self.instance else "")
        )
        mark = Call(
            index=0,
            callee=definition.identity,
            kind="method" if definition.block is not None else definition.kind,
            path=path,
            start=0,
            stop=0,
            generics={g.name: bound.get(g.key) for g in definition.generics},
            arguments=tuple(
                Argument(p.name, tree_of(inner.values[p.value])) for p in callee.params
            ),
            result=None,
            span=self.span(op.span),
        )
        index = self.builder.begin_call(mark)
        results = inner.run(callee.body)
        found = results[0] if results else None
        self.builder.end_call(index, tree_of(found))
        if callee.gradient is not None:
            self.builder.calls[index] = replace(
                self.builder.calls[index], gradient=inner.gradient(callee.gradient, found)
            )
        return found

    def gradient(self, region: Region, found: Datum) -> Body:
        """The backward of an op's call, on placeholders for arguments, result and gradient."""
        inner = Evaluator(self.world, self.fn, self.bound, None)
        inputs: list[int] = []
        params = [p.value for p in self.fn.params]
        data = [*(self.values[n] for n in params), found, found]
        for param, datum in zip(region.params, data, strict=True):
            number = self.builder.value(*self.kind(self.ref(datum)), "body")
            inputs.append(number)
            inner.values[param] = Ref(number)
        with self.builder.body() as (steps, calls):
            (result,) = inner.run(region)
            outputs = flatten(self.settled(result))
            return Body(tuple(inputs), tuple(steps), outputs, tuple(calls))


def child_of(instance: Instance, name: str, t: Type, has_child: Any) -> Datum:
    """The child instance `name` of type `t`."""
    path = instance.child(name)
    if isinstance(t, OptionalType):
        assert isinstance(t.inner, BlockType)
        found = make_instance(t.inner, instance.bound, path)
        return found if has_child(found) else None
    if isinstance(t, ArrayType):
        count = instance.bound.size(t.size)
        return ArrayInstance(
            tuple(make_instance(t.element, instance.bound, f"{path}.{i}") for i in range(count))
        )
    assert isinstance(t, BlockType)
    return make_instance(t, instance.bound, path)


def make_instance(t: BlockType, outer: Bound, path: str) -> Instance:
    """An instance of a block type whose arguments are in terms of `outer`."""
    bound = Bound()
    for generic, value in zip(t.definition.generics, t.arguments, strict=True):
        bound.bind(generic.key, outer.argument(value))
    return Instance(t.definition, bound, path)


def settled(builder: Builder, datum: Datum) -> Datum:
    """A datum whose numbers known while the graph is made are constants of the graph."""
    if isinstance(datum, (int, float)):
        return Ref(builder.constant(datum, "i64" if isinstance(datum, int) else "f64"))
    if isinstance(datum, Element):
        assert not datum.axes
        return Ref(datum.number)
    if isinstance(datum, tuple):
        return tuple(settled(builder, d) for d in datum)
    if isinstance(datum, Record):
        return Record({name: settled(builder, d) for name, d in datum.fields.items()})
    return datum


def flatten(datum: Datum) -> tuple[int, ...]:
    """The graph values of a datum, in order."""
    if datum is None:
        return ()
    if isinstance(datum, Ref):
        return (datum.number,)
    if isinstance(datum, tuple):
        return tuple(n for d in datum for n in flatten(d))
    assert isinstance(datum, Record), datum
    return tuple(n for d in datum.fields.values() for n in flatten(d))


def unflatten(like: Datum, numbers: list[int]) -> Datum:
    """A datum of the same structure; takes its values off the front of `numbers`."""
    if like is None:
        return None
    if isinstance(like, Ref):
        return Ref(numbers.pop(0))
    if isinstance(like, tuple):
        return tuple(unflatten(d, numbers) for d in like)
    assert isinstance(like, Record), like
    return Record({name: unflatten(d, numbers) for name, d in like.fields.items()})


def tree_of(datum: Datum) -> Tree:
    """A datum as the tree that a graph records."""
    if datum is None:
        return None
    if isinstance(datum, (Ref, Element)):
        return datum.number
    if isinstance(datum, tuple):
        return tuple(tree_of(d) for d in datum)
    assert isinstance(datum, Record), datum
    return {name: tree_of(d) for name, d in datum.fields.items()}


def literal_arithmetic(kind: str, operands: list[Datum]) -> float:
    """Arithmetic on float literals and sizes, in doubles."""
    from linnet.check.operators import fold_floats

    numbers = [float(d) for d in operands if isinstance(d, (int, float))]
    if kind == "neg":
        return -numbers[0]
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%"}
    return fold_floats(signs[kind], numbers[0], numbers[1])


def source_span(file: SourceFile, span: Span) -> SourceSpan:
    """A span with lines and columns."""
    start, end = file.position(span.start), file.position(span.end)
    return SourceSpan(file.name, start.line, start.column, end.line, end.column)
