"""Programs to IR documents and back."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from linnet.check import CheckedProgram, check_text
from linnet.check.definitions import BlockDef
from linnet.check.types import FLOATS
from linnet.graph.binding import entries, graph_for
from linnet.graph.bound import BindingError
from linnet.graph.model import Graph
from linnet.ir import IRModule, lower, verify_ir
from linnet.ir.emit import emit
from linnet.ir.emit_expressions import operations
from linnet.ir.json import module_to_json
from linnet.ir.passes import Legality, optimize
from linnet.source import render_text
from linnet_helpers.interpreter import run


def there_and_back(text: str) -> tuple[str, str]:
    """The program as emitted, and that program as emitted again."""
    first = emitted(check_text(text))
    program = check_text(first)
    problems = "\n".join(map(render_text, program.errors))
    assert not problems, f"{problems}\n\n{first}"
    return first, emitted(program)


def emitted(program: CheckedProgram) -> str:
    """Source made of the JSON text of a program's IR."""
    return source_of(lower(program.ensure_valid()))


def source_of(module: IRModule) -> str:
    """Source made of the JSON text of IR."""
    return emit(json.loads(json.dumps(module_to_json(module, None))))


def optimized(text: str, legality: Legality) -> str:
    """The program after all passes, verified after each, as source."""
    return source_of(optimize(lower(check_text(text).ensure_valid()), legality, verify_ir))


def documents_agree(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Compares all but function bodies; items may stand in another order."""
    bodies = ("body", "values", "gradient", "instance")
    for kind in first:
        parts = []
        for document in (first, second):
            found = document[kind]
            if isinstance(found, list):
                kept = [
                    {k: v for k, v in one.items() if k not in bodies}
                    if kind in ("functions", "constants")
                    else one
                    for one in found
                ]
                found = sorted(without_places(kept), key=repr)
            parts.append(found)
        assert parts[0] == parts[1], kind


def without_places(found: Any) -> Any:
    """Without value numbers, spans and the bodies of defaults and constants."""
    if isinstance(found, dict):
        dropped = ("value", "span", "default" if "value" in found else "", "values", "body")
        return {k: without_places(v) for k, v in found.items() if k not in dropped}
    return [without_places(part) for part in found] if isinstance(found, list) else found


def binding(kind: str, pick: random.Random) -> object:
    """A value for a generic."""
    sizes = {"Dim": pick.choice([1, 2, 4, 6]), "Shape": (pick.choice([1, 2]),)}
    return sizes.get(kind, "i32" if kind == "Integer" else "f32")


def graphs(program: CheckedProgram, pick: random.Random) -> dict[str, Graph]:
    """Graphs of all entries at some sizes, by name; entries that the sizes do not fit are left."""
    module = program.ensure_valid()
    found: dict[str, Graph] = {}
    blocks = [item for item in module.items if isinstance(item, BlockDef)]
    for block in (None, *blocks):
        for entry in entries(module, block):
            try:
                found[entry.identity] = graph_for(
                    program,
                    entry.name,
                    None,
                    root=block.name if block else None,
                    generics={
                        g.name: binding(g.kind, pick) for g in (block.generics if block else ())
                    },
                    entry_generics={g.name: binding(g.kind, pick) for g in entry.generics},
                )
            except BindingError:
                continue
    return found


def some_graphs(text: str) -> dict[str, Graph]:
    """The graphs of all entries at a few sizes."""
    program = check_text(text)
    return {
        f"{name} {seed}": graph
        for seed in range(4)
        for name, graph in graphs(program, random.Random(seed)).items()
    }


def graphs_of(text: str) -> dict[str, Any]:
    """Documents of the graphs of all entries, at a few sizes, without places in the source."""
    return {name: without_spans(graph.to_json()) for name, graph in some_graphs(text).items()}


def answers(graph: Graph, seed: int) -> list[Any]:
    """What a graph gives and leaves in its states, for random floats and positions 0."""
    pick = np.random.default_rng(seed)

    def numbers(shape: tuple[int, ...], dtype: str) -> Any:
        floats = pick.standard_normal(shape)
        return floats if dtype in FLOATS else np.zeros(shape)

    # Paths and names are drawn in one order, whatever order the graph has them in.
    weights = {p.path: p for p in graph.parameters}
    inputs = {i.name: graph.values[i.value] for i in graph.inputs}
    states: dict[str, Any] = {}
    found = run(
        graph,
        {name: numbers(inputs[name].shape, inputs[name].dtype) for name in sorted(inputs)},
        {path: numbers(weights[path].shape, weights[path].dtype) for path in sorted(weights)},
        states,
    )
    return [found, *(states[path] for path in sorted(states))]


def without_spans(found: Any) -> Any:
    """A document without places in the source and names of values."""
    if isinstance(found, dict):
        return {k: without_spans(v) for k, v in found.items() if k not in ("span", "name")}
    return [without_spans(part) for part in found] if isinstance(found, list) else found


def operation_count(document: dict[str, Any]) -> int:
    """How many operations the functions of a document have."""
    found = 0
    for fn in document["functions"]:
        regions = [
            fn["body"],
            *filter(None, [fn["gradient"], *(p["default"] for p in fn["params"])]),
        ]
        found += sum(1 for region in regions for _ in operations(region))
    return found
