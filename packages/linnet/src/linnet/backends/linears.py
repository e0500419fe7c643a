"""The linear calls of a graph that a library can take over as plain products with weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linnet.backends.region import Region
from linnet.graph import Call, Graph

LINEAR = "std.nn.linear::linear"


@dataclass(frozen=True)
class PlainLinear:
    """A linear call without a bias: `x` is the value that it multiplies, `path` its weight's."""

    call: Call
    x: int
    path: str

    @property
    def result(self) -> int:
        """The value that it makes."""
        return self.call.results[0]

    def region(self, graph: Graph) -> Region:
        """The call as a region."""
        return Region.of(graph, self.call.start, self.call.stop, self.call.index)


def plain_linears(graph: Graph) -> list[PlainLinear]:
    """The linear calls without a bias whose weight is a parameter, in order."""
    paths = {p.value: p.path for p in graph.parameters if p.kind == "param"}
    found = []
    for call in graph.semantic_calls(LINEAR):
        x, weight, bias = (call.argument(name) for name in ("x", "weight", "bias"))
        if bias is None and isinstance(x, int) and isinstance(weight, int) and weight in paths:
            found.append(PlainLinear(call, x, paths[weight]))
    return found


def sibling_regions(
    graph: Graph, linears: Iterable[PlainLinear]
) -> list[tuple[Region, tuple[PlainLinear, ...]]]:
    """Two or more calls that multiply one value with different weights of one dtype (q, k and v),
    each group as one region whose outputs are the calls' results in order.
    """
    dtypes = {p.path: p.dtype for p in graph.parameters}
    groups: dict[tuple[int, str], list[PlainLinear]] = {}
    for linear in linears:
        groups.setdefault((linear.x, dtypes[linear.path]), []).append(linear)
    found = []
    for group in groups.values():
        if len(group) < 2 or len({linear.path for linear in group}) < len(group):
            continue
        steps = [n for linear in group for n in range(linear.call.start, linear.call.stop)]
        region = Region.of_steps(graph, steps)
        if region.problem is None and region.outputs == tuple(one.result for one in group):
            found.append((region, tuple(group)))
    return found
