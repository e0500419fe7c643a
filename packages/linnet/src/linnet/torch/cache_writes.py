"""Writes to caches by the ops of `std.nn.cache`: where their positions must lie, and which of them
may be made in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linnet.graph import Call, Graph, Step

#: Op -> the arguments that hold positions, each with the axis of the cache that they lie on.
POSITIONS = {
    "std.nn.cache::write_at": (("at", 2),),
    "std.nn.cache::write_rows": (("at", 2),),
    "std.nn.cache::write_slot": (("slot", 0),),
    "std.nn.cache::write_slots": (("slots", 0), ("at", 2)),
    "std.nn.cache::write_span": (("at", 2),),
    "std.nn.cache::write_tokens": (("rows", 0), ("positions", 2)),
}
#: Ops whose new content differs from the old one in few places, which PyTorch can write alone.
IN_PLACE = frozenset(
    f"std.nn.cache::{name}" for name in ("write_at", "write_rows", "write_slot", "write_span")
)


@dataclass(frozen=True)
class Bound:
    """The elements of a value must be positions from 0 to `greatest`."""

    value: int
    greatest: int


def position_bounds(graph: Graph, call: Call) -> Iterator[Bound]:
    """What a call needs of its positions, so that it writes within its cache."""
    for name, axis in POSITIONS.get(call.callee, ()):
        value, cache = call.argument(name), call.argument("cache")
        assert isinstance(value, int)
        assert isinstance(cache, int)
        span = 1
        if call.callee == "std.nn.cache::write_span":
            written = call.argument("v")
            assert isinstance(written, int)
            span = graph.values[written].shape[axis]
        yield Bound(value, graph.values[cache].shape[axis] - span)


def state_written_whole(graph: Graph, call: Call) -> str | None:
    """The path of the state that a call of `std.nn.cache` takes and whose new content it gives, if
    nothing else in the graph reads the old content; then the call may write the state in place.
    """
    if call.callee not in IN_PLACE:
        return None
    cache, (result,) = call.argument("cache"), call.results
    for state in graph.states:
        if state.value == cache and state.result == result != state.value:
            inside = range(call.start, call.stop)
            readers = graph.readers.get(state.value, ())
            once = graph.writes.get(state.path) == 1
            returned = state.value in graph.results
            others = (other for other in graph.states if other is not state)
            apart = all(other.result not in (cache, result) for other in others)
            if once and apart and not returned and all(s.index in inside for s in readers):
                return state.path
    return None


def may_fail(graph: Graph, step: Step) -> bool:
    """Whether a step can fail for some values of its operands."""
    if step.kind == "element" or step.bodies:
        return True
    if step.kind not in ("div", "rem") or graph.values[step.operands[0]].dtype[0] not in "iu":
        return False
    return graph.literal(step.operands[1]) in (None, 0)
