"""Branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from linnet.check.types import OptionalType
from linnet.graph.data import ArrayInstance, Datum, Ref, flatten, settled, unflatten
from linnet.graph.model import Body
from linnet.graph.tensors import TensorEvaluator
from linnet.ir import Operation, Region

#: Arms of a match that are tried one after another; each is a level of nesting.
LONGEST_CHAIN = 8


class LoopEvaluator(TensorEvaluator):
    """Runs branches and loops; static ones leave no step."""

    def write_state(self, path: str, number: int, op: Operation) -> None:
        """Overridden by the evaluator of blocks."""
        raise NotImplementedError

    def do_if(self, op: Operation, operands: list[Datum]) -> Datum:
        """A branch; decided here when the condition is known."""
        number = self.ref(operands[0])
        known = self.builder.literals.get(number)
        if known is not None:
            return self.run(op.regions[0 if known else 1])[0]
        arms = [self.branch(region) for region in op.regions]
        return self.choose(op, number, arms)

    def branch(self, region: Region) -> tuple[Body, Datum, dict[str, int]]:
        """Runs a region as a nested body."""
        return self.body_of(lambda: self.run(region)[0])

    def body_of(self, make: Callable[[], Datum]) -> tuple[Body, Datum, dict[str, int]]:
        """The body of the steps that `make` emits, states apart, with its result and the states
        that it changed.
        """
        before = dict(self.world.states)
        with self.builder.body() as (steps, calls):
            found = self.settled(make())
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
        """Of few arms a chain of `if` steps, one for each arm but the last. More are halved first,
        so that a match of many variants is neither deep nor slow; the arm `_` goes to both halves.
        """
        if len(arms) > LONGEST_CHAIN:
            return self.halved_match(op, number, arms)
        case, region = arms[0]
        if case == "_" or len(arms) == 1:
            return self.run(region)[0]
        variant = self.builder.constant(case, "i64")  # type: ignore[arg-type]  # an enum's position
        test = self.emit(op, "compare", (number, variant), (), "bool", comparison="eq")
        first = self.branch(region)
        rest = self.body_of(lambda: self.enum_match(op, number, arms[1:]))
        return self.choose(op, test.number, [first, rest])

    def halved_match(
        self, op: Operation, number: int, arms: list[tuple[str | int, Region]]
    ) -> Datum:
        """A match of the variants below the middle one, or of the others."""
        others = [arm for arm in arms if arm[0] == "_"]
        named = sorted((arm for arm in arms if arm[0] != "_"), key=lambda arm: int(arm[0]))
        low, high = named[: len(named) // 2], named[len(named) // 2 :]
        middle = self.builder.constant(int(high[0][0]), "i64")
        test = self.emit(op, "compare", (number, middle), (), "bool", comparison="lt")
        halves = [
            self.body_of(partial(self.enum_match, op, number, [*part, *others]))
            for part in (low, high)
        ]
        return self.choose(op, test.number, halves)

    def do_static_for(self, op: Operation, operands: list[Datum]) -> Any:
        """Unrolled."""
        region = op.regions[0]
        items: Iterable[Datum]
        if op.attributes["start"] is None:
            array = operands[0]
            assert isinstance(array, ArrayInstance)
            items, carried = array.items, operands[1:]
        else:
            first, last = (
                self.bound.size(op.attributes["start"]),
                self.bound.size(op.attributes["stop"]),
            )
            items = (Ref(self.builder.constant(i, "i64")) for i in range(first, last))
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
        with self.world.work.loop(), self.builder.body() as (steps, calls):
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
