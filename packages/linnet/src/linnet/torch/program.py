"""What a runtime needs of a model's source: its declarations, and a graph for given inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from linnet.graph import Graph
from linnet.torch.dtypes import describe
from linnet.torch.inputs import Description
from linnet.torch.weights import Declared


class Program(Protocol):
    """A model at fixed generics of its root block."""

    @property
    def name(self) -> str:
        """The root block, or the module where there is none."""
        ...

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries, in the order of the source."""
        ...

    def inputs_of(self, entry: str) -> tuple[str, ...]:
        """The names of an entry's inputs, in order."""
        ...

    def variants(self, entry: str) -> Mapping[str, int]:
        """How many variants the enum of each flat input of that type has."""
        ...

    def declared(self, bound: frozenset[str] | None) -> tuple[Declared, ...]:
        """Parameters, buffers and states. `bound` are the paths that have a weight: they decide
        which optional children there are; None means none of them.
        """
        ...

    def graph_for(
        self,
        entry: str,
        inputs: Mapping[str, Description],
        generics: Mapping[str, Any],
        bound: frozenset[str],
    ) -> Graph:
        """The graph of an entry for inputs of these shapes and dtypes. ValueError names the input,
        and the size or generic, that does not fit.
        """
        ...


class GraphProgram:
    """Graphs that are there already, one for each entry; each runs at its own sizes only."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        if not graphs:
            raise ValueError("GraphProgram: no graphs")
        self._graphs = {graph.entry: graph for graph in graphs}
        if len(self._graphs) < len(graphs):
            raise ValueError("GraphProgram: two graphs of one entry")

    @property
    def name(self) -> str:
        """The root block, or the module where there is none."""
        graph = next(iter(self._graphs.values()))
        return graph.root or graph.module

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries, in the order given."""
        return tuple(self._graphs)

    def inputs_of(self, entry: str) -> tuple[str, ...]:
        """The names of an entry's inputs, in order; parts of one input count once."""
        names = (item.name.split(".")[0] for item in self._graphs[entry].inputs)
        return tuple(dict.fromkeys(names))

    def variants(self, entry: str) -> Mapping[str, int]:
        """None: a graph does not tell enums from whole numbers."""
        return {}

    def declared(self, bound: frozenset[str] | None) -> tuple[Declared, ...]:
        """What the graphs read and write."""
        found: dict[str, Declared] = {}
        for graph in self._graphs.values():
            for p in graph.parameters:
                found[p.path] = Declared(p.path, p.kind, p.shape, p.dtype, p.optional)
            for s in graph.states:
                found[s.path] = Declared(s.path, "state", s.shape, s.dtype)
        return tuple(found.values())

    def graph_for(
        self,
        entry: str,
        inputs: Mapping[str, Description],
        generics: Mapping[str, Any],
        bound: frozenset[str],
    ) -> Graph:
        """The graph of `entry`; what its inputs must be is checked where they are bound to it."""
        graph = self._graphs[entry]
        wrong = {k: v for k, v in generics.items() if graph.entry_generics.get(k) != v}
        if wrong:
            raise ValueError(
                f"{graph.module}::{entry}: this graph was made for {dict(graph.entry_generics)}, "
                f"got {wrong}"
            )
        return graph


def expected_input(graph: Graph, number: int) -> str:
    """`f32[2, 3]` for an input of a graph."""
    value = graph.values[number]
    return describe(value.shape, value.dtype)
