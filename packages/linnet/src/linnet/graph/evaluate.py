"""Runs IR at a binding of all sizes, emitting graph steps: calls inline, static loops unroll."""

from __future__ import annotations

from dataclasses import replace

from linnet.check.definitions import FunctionDef
from linnet.check.types import OptionalType, Type
from linnet.graph.bound import Bound
from linnet.graph.data import (
    ArrayInstance,
    Datum,
    Instance,
    Ref,
    child_of,
    flatten,
    tree_of,
)
from linnet.graph.elements import Element
from linnet.graph.loops import LoopEvaluator
from linnet.graph.model import Argument, Body, Call, Parameter
from linnet.ir import Operation, Region


class Evaluator(LoopEvaluator):
    """Runs one call of one function."""

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

    do_state_read = do_param

    def parameter(
        self, path: str, kind: str, shape: tuple[int, ...], dtype: str, optional: bool
    ) -> int:
        """The value of a parameter or buffer, made on first use."""
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
        # A function without an instance works for the block whose code calls it.
        inner.path = instance.path if instance is not None else self.path
        mark = Call(
            index=0,
            callee=definition.identity,
            kind="method" if definition.block is not None else definition.kind,
            path=inner.path,
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
        if callee.gradient is not None:
            found = self.made_inside(found, self.builder.calls[index])
        self.builder.end_call(index, tree_of(found))
        if callee.gradient is not None:
            self.builder.calls[index] = replace(
                self.builder.calls[index], gradient=inner.gradient(callee.gradient, found)
            )
        return found

    def made_inside(self, found: Datum, call: Call) -> Datum:
        """The result of a call with a gradient as a value of its own, also where it is an argument,
        so that the gradient has a step that it belongs to.
        """
        number = self.ref(found)
        if any(number in step.results for step in self.builder.steps[call.start :]):
            return found
        results = [self.kind(number)]
        return Ref(self.builder.step("reshape", (number,), results, call.span)[0])

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
