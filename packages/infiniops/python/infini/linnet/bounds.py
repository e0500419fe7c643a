"""What operators require of the elements of their inputs, as far as a graph can promise it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infini.linnet.program import FromInput, Viewed
from infini.linnet.table import Argument
from linnet.backends import Requirement
from linnet.graph import Graph


def requirements(
    graph: Graph,
    values: Mapping[str | int, int],
    tensors: Mapping[str, Viewed],
    arguments: Sequence[Argument],
) -> tuple[Requirement, ...] | None:
    """What the inputs of a region must hold so that its operator cannot fail; None where an
    argument that is no input of the region has elements with bounds.

    An argument that counts positions along a dimension of another one (token ids in a table) must
    lie within it.
    """
    by_name = {one.name: one for one in arguments}
    found = []
    for argument in arguments:
        if argument.index_of is None or argument.name not in tensors:
            continue
        place = tensors[argument.name].place
        other, dim = argument.index_of
        if not isinstance(place, FromInput) or other not in by_name:
            return None
        size = graph.values[values[by_name[other].source.what]].shape[dim]
        found.append(Requirement(place.position, 0, size - 1))
    return tuple(found)
