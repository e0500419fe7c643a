"""Numbers values anew, in the order in which they are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linnet.check.types import Type
from linnet.ir.model import IRFunction, IRParam, Operation, Region


def renumber(fn: IRFunction) -> IRFunction:
    """The function without the types and names of values that are gone."""
    return _Renumberer(fn).function()


class _Renumberer:
    def __init__(self, fn: IRFunction) -> None:
        self.fn = fn
        self.numbers: dict[int, int] = {}
        self.types: list[Type] = []
        self.names: list[str] = []

    def function(self) -> IRFunction:
        """The whole function."""
        fn = self.fn
        instance = None if fn.instance is None else self.make(fn.instance)
        made = self.makes(p.value for p in fn.params)
        defaults = [None if p.default is None else self.region(p.default) for p in fn.params]
        params = tuple(
            IRParam(p.name, p.type, value, default)
            for p, value, default in zip(fn.params, made, defaults, strict=True)
        )
        body = self.region(fn.body)
        gradient = None if fn.gradient is None else self.region(fn.gradient)
        return replace(
            fn,
            instance=instance,
            params=params,
            body=body,
            gradient=gradient,
            types=tuple(self.types),
            names=tuple(self.names),
        )

    def make(self, number: int) -> int:
        """The new number of a value; the parameters of a gradient are made before."""
        if number not in self.numbers:
            self.numbers[number] = len(self.types)
            self.types.append(self.fn.types[number])
            self.names.append(self.fn.names[number])
        return self.numbers[number]

    def makes(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """The new numbers of several."""
        return tuple(map(self.make, numbers))

    def region(self, region: Region) -> Region:
        """A region with new numbers."""
        params = self.makes(region.params)
        operations = tuple(map(self.operation, region.operations))
        return Region(params, operations, tuple(self.numbers[n] for n in region.results))

    def operation(self, op: Operation) -> Operation:
        """An operation with new numbers."""
        operands = tuple(self.numbers[n] for n in op.operands)
        regions = tuple(map(self.region, op.regions))
        return replace(op, operands=operands, regions=regions, results=self.makes(op.results))
