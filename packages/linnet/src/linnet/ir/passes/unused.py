"""Operations whose results nobody reads."""

from __future__ import annotations

from dataclasses import replace

from linnet.ir.model import IRFunction, Operation, Region


def drop_unused(fn: IRFunction) -> IRFunction:
    """Removes what is not read; what may write a state stays."""
    live: set[int] = set()
    gradient = None if fn.gradient is None else used(fn.gradient, live)
    body = used(fn.body, live)
    params = tuple(
        p if p.default is None else replace(p, default=used(p.default, live)) for p in fn.params
    )
    return replace(fn, params=params, body=body, gradient=gradient)


def used(region: Region, live: set[int]) -> Region:
    """The region with what it needs for its results; `live` collects the values read."""
    live.update(region.results)
    kept: list[Operation] = []
    for op in reversed(region.operations):
        if not writes(op) and live.isdisjoint(op.results):
            continue
        live.update(op.operands)
        kept.append(replace(op, regions=tuple(used(inner, live) for inner in op.regions)))
    return replace(region, operations=tuple(reversed(kept)))


def writes(op: Operation) -> bool:
    """Whether an operation may write a state."""
    if op.kind == "state_write":
        return True
    if op.kind == "call" and op.attributes["callee"].may_write_state():
        return True
    return any(writes(inner) for region in op.regions for inner in region.operations)
