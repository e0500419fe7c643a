"""Collects steps, values and call marks, then drops what nothing needs."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from linnet.graph.model import (
    Argument,
    Body,
    Call,
    Constant,
    Parameter,
    SourceSpan,
    Step,
    Tree,
    Value,
    leaves,
)


class Builder:
    """The graph under construction. Constants are shared by dtype and number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self.calls: list[Call] = []
        self.constants: dict[tuple[str, bytes | int | bool], Constant] = {}
        self.literals: dict[int, bool | int | float] = {}
        self.parameters: dict[str, Parameter] = {}
        self.open_calls: list[int] = []
        self.depth = 0

    def value(self, shape: tuple[int, ...], dtype: str, origin: str, name: str = "") -> int:
        """A new value."""
        number = len(self.values)
        self.values.append(Value(number, shape, dtype, origin, name))
        return number

    def constant(self, literal: bool | int | float, dtype: str) -> int:
        """The scalar `literal` of a dtype."""
        if dtype in ("f16", "bf16", "f32", "f64"):
            literal = float(literal)
            key: bytes | int | bool = struct.pack("<d", literal)
        elif dtype == "bool":
            literal = key = bool(literal)
        else:
            literal = key = int(literal)
        found = self.constants.get((dtype, key))
        if found is None:
            found = Constant(self.value((), dtype, "constant"), literal)
            self.constants[(dtype, key)] = found
            self.literals[found.value] = literal
        return found.value

    def step(
        self,
        kind: str,
        operands: tuple[int, ...],
        results: list[tuple[tuple[int, ...], str]],
        span: SourceSpan | None,
        attributes: Mapping[str, Any] | None = None,
        bodies: tuple[Body, ...] = (),
    ) -> tuple[int, ...]:
        """Adds a step; gives its results."""
        numbers = tuple(self.value(shape, dtype, "step") for shape, dtype in results)
        self.steps.append(
            Step(len(self.steps), kind, operands, numbers, attributes or {}, span, bodies)
        )
        return numbers

    @contextmanager
    def body(self) -> Iterator[tuple[list[Step], list[Call]]]:
        """Steps and calls made inside go to a list of their own."""
        outer = self.steps, self.calls, self.open_calls
        self.steps, self.calls, self.open_calls = [], [], []
        self.depth += 1
        try:
            yield self.steps, self.calls
        finally:
            self.steps, self.calls, self.open_calls = outer
            self.depth -= 1

    def begin_call(self, call: Call) -> int:
        """Marks the start of a call; gives its index for `end_call`."""
        index = len(self.calls)
        parent = self.open_calls[-1] if self.open_calls else None
        self.calls.append(replace(call, index=index, start=len(self.steps), parent=parent))
        self.open_calls.append(index)
        return index

    def end_call(self, index: int, result: Tree) -> None:
        """Marks the end of a call."""
        self.open_calls.pop()
        self.calls[index] = replace(self.calls[index], stop=len(self.steps), result=result)


class Pruned:
    """Steps and calls without those that nothing needs, values numbered anew."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.numbers: dict[int, int] = {}
        self.values: list[Value] = []

    def live_steps(
        self,
        steps: list[Step] | tuple[Step, ...],
        calls: list[Call] | tuple[Call, ...],
        live: set[int],
    ) -> tuple[list[Step], list[Call]]:
        """Keeps what `live` needs; adds to `live` what that reads.

        A call that is kept keeps all its arguments and results, so that its mark stays whole.
        """
        ends: dict[int, list[Call]] = {}
        for call in calls:
            ends.setdefault(call.stop, []).append(call)
        kept_steps: list[Step] = []
        kept_calls: list[Call] = []
        for position in range(len(steps), -1, -1):
            for call in ends.get(position, ()):
                results = set(leaves(call.result))
                if results & live or (not results and self.has_write(steps, call)):
                    live |= results
                    live.update(call.operands)
                    kept_calls.append(call)
            if position == 0:
                break
            step = steps[position - 1]
            if step.kind == "state_write" or any(n in live for n in step.results):
                if step.bodies:
                    bodies = tuple(self.live_body(body, step, live) for body in step.bodies)
                    step = replace(step, bodies=bodies)
                live.update(step.results)
                live.update(step.reads)
                kept_steps.append(step)
        kept_steps.reverse()
        positions = {step.index: at for at, step in enumerate(kept_steps)}
        at = len(kept_steps)
        following: dict[int, int] = {len(steps): at}
        for position in range(len(steps) - 1, -1, -1):
            at = positions.get(position, at)
            following[position] = at
        kept_calls.sort(key=lambda call: call.index)
        renumbered = {call.index: at for at, call in enumerate(kept_calls)}
        by_index = {call.index: call for call in calls}
        moved = []
        for call in kept_calls:
            parent = call.parent
            while parent is not None and parent not in renumbered:
                parent = by_index[parent].parent
            moved.append(
                replace(
                    call,
                    index=renumbered[call.index],
                    start=following[call.start],
                    stop=following[call.stop],
                    parent=None if parent is None else renumbered[parent],
                    gradient=self.live_gradient(call, live),
                )
            )
        return [_at(step, i) for i, step in enumerate(kept_steps)], moved

    def has_write(self, steps: list[Step] | tuple[Step, ...], call: Call) -> bool:
        """Whether a call without a result writes a state."""
        return any(step.kind == "state_write" for step in steps[call.start : call.stop])

    def live_body(self, body: Body, step: Step, live: set[int]) -> Body:
        """A body without what its outputs do not need."""
        needed = set(body.outputs)
        steps, calls = self.live_steps(body.steps, body.calls, needed)
        # Calls kept inside may read outer values that no step reads.
        live.update(needed)
        return Body(body.inputs, tuple(steps), body.outputs, tuple(calls))

    def live_gradient(self, call: Call, live: set[int]) -> Body | None:
        """The backward of a kept call, pruned; what it reads from outside is live."""
        if call.gradient is None:
            return None
        needed = set(call.gradient.outputs)
        steps, calls = self.live_steps(call.gradient.steps, call.gradient.calls, needed)
        live.update(needed)
        return Body(call.gradient.inputs, tuple(steps), call.gradient.outputs, tuple(calls))

    # Numbering

    def number(self, old: int) -> int:
        """The new number of a value, given on first sight."""
        new = self.numbers.get(old)
        if new is None:
            new = len(self.values)
            self.numbers[old] = new
            value = self.builder.values[old]
            self.values.append(Value(new, value.shape, value.dtype, value.origin, value.name))
        return new

    def many(self, old: tuple[int, ...]) -> tuple[int, ...]:
        """New numbers."""
        return tuple(self.number(n) for n in old)

    def tree(self, old: Tree) -> Tree:
        """New numbers in a tree."""
        if old is None:
            return None
        if isinstance(old, int):
            return self.number(old)
        if isinstance(old, Mapping):
            return {name: self.tree(part) for name, part in old.items()}
        return tuple(self.tree(part) for part in old)

    def step(self, step: Step) -> Step:
        """A step with new numbers."""
        operands = self.many(step.operands)
        bodies = tuple(self.body(body) for body in step.bodies)
        results = self.many(step.results)
        return Step(step.index, step.kind, operands, results, step.attributes, step.span, bodies)

    def body(self, body: Body) -> Body:
        """A body with new numbers."""
        inputs = self.many(body.inputs)
        steps = tuple(self.step(step) for step in body.steps)
        calls = tuple(self.call(call) for call in body.calls)
        return Body(inputs, steps, self.many(body.outputs), calls)

    def call(self, call: Call) -> Call:
        """A call mark with new numbers."""
        return replace(
            call,
            arguments=tuple(Argument(a.name, self.tree(a.value)) for a in call.arguments),
            result=self.tree(call.result),
            gradient=None if call.gradient is None else self.body(call.gradient),
        )


def _at(step: Step, index: int) -> Step:
    """A step at another position; `replace` takes several times as long."""
    if step.index == index:
        return step
    operands, results = step.operands, step.results
    return Step(index, step.kind, operands, results, step.attributes, step.span, step.bodies)
