"""How the tensors that a region reads lie in memory, as far as the graph and the weights tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from linnet.backends import Region
from linnet.graph import Graph
from linnet.graph.kinds import SAME_ELEMENTS


def layouts_of(graph: Graph, region: Region, tensor: Callable[[str], Tensor]) -> list[Any]:
    """For each input the view steps between it and the memory it lies in; for each parameter its
    strides, or None where it is contiguous.
    """
    inputs = [_views(graph, number) for number in region.inputs]
    weights = []
    for path in region.parameters:
        found = tensor(path)
        weights.append(None if found.is_contiguous() else list(found.stride()))
    return [inputs, weights]


def _views(graph: Graph, number: int) -> list[Any]:
    chain: list[Any] = []
    step = graph.producers.get(number)
    while step is not None and step.kind in SAME_ELEMENTS:
        source = step.operands[0]
        chain.append([step.kind, list(graph.values[source].shape), _plain(step.attributes)])
        step = graph.producers.get(source)
    # A reshape alone leaves contiguous memory contiguous.
    return [] if all(link[0] == "reshape" for link in chain) else chain


def _plain(attributes: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in sorted(attributes.items())
    }
