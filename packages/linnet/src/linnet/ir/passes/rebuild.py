"""Walks a function's operations and builds the function anew, with some of them replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from linnet.check.types import Scalar, Type
from linnet.ir.model import IRFunction, IRParam, Operation, Region
from linnet.shapes import Poly
from linnet.source import Span

Number = bool | int | float


class Rebuilder:
    """The walk. A pass overrides `visit`; values keep their numbers."""

    def __init__(self, fn: IRFunction) -> None:
        self.fn = fn
        self.types: list[Type] = list(fn.types)
        self.names: list[str] = list(fn.names)
        self.makers: dict[int, Operation] = {}
        self._now: dict[int, int] = {}
        self._open: list[list[Operation]] = []

    def visit(self, op: Operation) -> tuple[int, ...] | None:
        """The values that stand for the results of `op`, or None to keep it.

        Its operands and regions are rebuilt already. New operations come from `emit`.
        """
        raise NotImplementedError

    def function(self) -> IRFunction:
        """The function as the pass leaves it."""
        fn = self.fn
        params = []
        for p in fn.params:
            default = None if p.default is None else self.region(p.default)
            params.append(p if default is None else IRParam(p.name, p.type, p.value, default))
        body = self.region(fn.body)
        gradient = None if fn.gradient is None else self.region(fn.gradient)
        return replace(
            fn,
            params=tuple(params),
            body=body,
            gradient=gradient,
            types=tuple(self.types),
            names=tuple(self.names),
        )

    # Walking

    def region(self, region: Region) -> Region:
        """A region rebuilt."""
        self._open.append([])
        for op in region.operations:
            self.operation(op)
        results = self.current(region.results)
        return Region(region.params, tuple(self._open.pop()), results)

    def operation(self, op: Operation) -> None:
        """One operation kept or replaced."""
        regions = tuple(self.region(region) for region in op.regions)
        op = replace(op, operands=self.current(op.operands), regions=regions)
        found = self.visit(op)
        if found is None:
            self.keep(op)
            return
        for old, new in zip(op.results, found, strict=True):
            if old != new:
                self.stand_for(old, new)
                self.names[new] = self.names[new] or self.names[old]

    def keep(self, op: Operation) -> None:
        """Adds an operation to the region being built."""
        self._open[-1].append(op)
        for number in op.results:
            self.makers[number] = op

    def splice(self, region: Region, arguments: Iterable[int]) -> tuple[int, ...]:
        """Puts a region's operations here, with `arguments` for its parameters; its results."""
        for param, argument in zip(region.params, arguments, strict=True):
            self.stand_for(param, argument)
        for op in region.operations:
            self.operation(op)
        return self.current(region.results)

    def stand_for(self, old: int, new: int) -> None:
        """Whoever reads `old` after this reads `new`."""
        self._now[old] = new

    def current(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """The values that stand for these now."""
        found = []
        for number in numbers:
            while number in self._now:
                number = self._now[number]
            found.append(number)
        return tuple(found)

    # For passes

    def emit(
        self, kind: str, operands: tuple[int, ...], t: Type, span: Span, **attributes: Any
    ) -> int:
        """A new operation with one result."""
        self.types.append(t)
        self.names.append("")
        number = len(self.types) - 1
        self.keep(Operation(kind, operands, (number,), attributes, (), span))
        return number

    def maker(self, number: int, *kinds: str) -> Operation | None:
        """The operation that makes a value, if it is of one of these kinds."""
        op = self.makers.get(number)
        return op if op is not None and op.kind in kinds else None

    def literal(self, number: int) -> Number | None:
        """The number that a scalar value is known to be, or None."""
        if not isinstance(self.types[number], Scalar):
            return None
        op = self.maker(number, "constant", "size")
        if op is None:
            return None
        if op.kind == "size":
            size = op.attributes["size"]
            assert isinstance(size, Poly)
            return size.constant
        value = op.attributes["value"]
        assert isinstance(value, (bool, int, float))
        return value
