"""Operations that do the same are done once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from linnet.check.definitions import FunctionDef
from linnet.check.types import Substitution
from linnet.ir.model import IndexAxis, IRFunction, Operation, Region
from linnet.ir.passes.rebuild import Rebuilder

# What depends on when it is done, or may differ each time.
PINNED = ("state_read", "state_write", "static_for", "while", "scan")


def merge_duplicates(fn: IRFunction) -> IRFunction:
    """Replaces an operation by an earlier one that is the same and can be seen from there.

    Reads and writes of states, loops and calls of methods, which may use states, stay.
    """
    return _Merger(fn).function()


def movable(op: Operation) -> bool:
    """Whether an operation gives the same whenever it is done."""
    if op.kind in PINNED or (op.kind == "call" and op.attributes["callee"].block is not None):
        return False
    return all(movable(inner) for region in op.regions for inner in region.operations)


class _Merger(Rebuilder):
    def __init__(self, fn: IRFunction) -> None:
        super().__init__(fn)
        self.seen: list[dict[Hashable, tuple[int, ...]]] = []

    def region(self, region: Region) -> Region:
        self.seen.append({})
        found = super().region(region)
        self.seen.pop()
        return found

    def visit(self, op: Operation) -> tuple[int, ...] | None:
        if not movable(op) or not op.results:
            return None
        key = self.key(op, {})
        for known in reversed(self.seen):
            if key in known:
                return known[key]
        self.seen[-1][key] = op.results
        return None

    def key(self, op: Operation, inside: dict[object, int]) -> Hashable:
        """Equal for operations that do the same; what regions declare is counted through."""
        operands = tuple(inside.get(n, -1 - n) for n in op.operands)
        attributes = tuple(
            (name, self.plain(value, inside)) for name, value in sorted(op.attributes.items())
        )
        regions = tuple(self.region_key(region, inside) for region in op.regions)
        types = tuple(self.types[n] for n in op.results)
        return (op.kind, operands, attributes, regions, types)

    def region_key(self, region: Region, inside: dict[object, int]) -> Hashable:
        """The key of all operations of a region."""
        for number in region.params:
            inside[number] = len(inside)
        operations = []
        for op in region.operations:
            operations.append(self.key(op, inside))
            for number in op.results:
                inside[number] = len(inside)
        results = tuple(inside.get(n, -1 - n) for n in region.results)
        return (len(region.params), tuple(operations), results)

    def plain(self, value: Any, inside: dict[object, int]) -> Hashable:
        """An attribute as something that can be compared."""
        if isinstance(value, IndexAxis):
            inside[("index", value.number)] = len(inside)
            return (value.extent, value.pack)
        if isinstance(value, tuple):
            if len(value) == 2 and value[0] == "index":
                return ("index", inside.get(value, -1 - value[1]))
            return tuple(self.plain(part, inside) for part in value)
        if isinstance(value, Mapping):
            return tuple((name, self.plain(part, inside)) for name, part in value.items())
        if isinstance(value, (FunctionDef, Substitution)):
            return id(value)
        # 0.0 and -0.0 are equal and yet differ, as do 1, 1.0 and true.
        return (type(value).__name__, repr(value) if isinstance(value, float) else value)
