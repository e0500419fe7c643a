"""What operators require of the elements of their inputs, as far as a graph can promise it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infini.linnet.program import FromConstant, FromInput, Viewed
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

    def size(dimension: tuple[str, int]) -> int | None:
        name, dim = dimension
        argument = next((one for one in arguments if one.name == name), None)
        number = None if argument is None else values.get(argument.source.what)
        return None if number is None else graph.values[number].shape[dim]

    found = []
    for argument in arguments:
        if argument.below is None or argument.name not in tensors:
            continue
        place, whole = tensors[argument.name].place, size(argument.below.size)
        less = 1 if argument.below.less is None else size(argument.below.less)
        if whole is None or less is None:
            return None
        if isinstance(place, FromConstant) and 0 <= place.number <= whole - less:
            continue
        if not isinstance(place, FromInput):
            return None
        found.append(Requirement(place.position, 0, whole - less))
    return tuple(found)
