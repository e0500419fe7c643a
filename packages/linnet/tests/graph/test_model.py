"""The graph records, their JSON form, the verifier and the format page agree with each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from linnet.graph import (
    KINDS,
    Argument,
    Body,
    Call,
    Constant,
    Graph,
    Input,
    Parameter,
    State,
    Step,
    Value,
    verify,
)

PAGE = Path(__file__).parents[4] / "docs" / "linnet" / "graph-format.md"
SCHEMA = Path(__file__).parents[2] / "src" / "linnet" / "graph" / "graph.schema.json"


def small_graph() -> Graph:
    """x @ w.T, written to a state, inside one marked call."""
    values = (
        Value(0, (2, 3), "f32", "input", "x"),
        Value(1, (4, 3), "f32", "parameter", "w"),
        Value(2, (2, 4), "f32", "state", "s"),
        Value(3, (), "f32", "constant"),
        Value(4, (2, 4), "f32", "step"),
        Value(5, (2, 4), "f32", "step"),
    )
    return Graph(
        module="m",
        root="Root",
        entry="forward",
        generics={"H": 3, "T": "f32", "L": (2,)},
        entry_generics={},
        values=values,
        inputs=(Input("x", 0),),
        result={"y": 5, "rest": (4, None)},
        parameters=(Parameter("w", 1, "param", (4, 3), "f32"),),
        states=(State("s", 2, 5, (2, 4), "f32"),),
        constants=(Constant(3, float("-inf")),),
        steps=(
            Step(0, "contract", (0, 1), (4,), {"inputs": ((0, 1), (2, 1)), "output": (0, 2)}),
            Step(1, "add", (4, 3), (5,)),
            Step(2, "state_write", (5,), (), {"state": "s"}),
        ),
        calls=(
            Call(
                0,
                "std.nn.linear::linear",
                "op",
                "",
                0,
                1,
                {"In": 3},
                (Argument("x", 0), Argument("bias", None)),
                4,
            ),
        ),
    )


def test_json_round_trip_keeps_the_graph() -> None:
    graph = small_graph()
    verify(graph)
    document = json.loads(json.dumps(graph.to_json(), allow_nan=False))
    assert Graph.from_json(document) == graph


def test_json_matches_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(small_graph().to_json())), schema)
    assert schema["$defs"]["step"]["properties"]["kind"]["enum"] == list(KINDS)


def test_page_lists_every_kind_with_its_meaning() -> None:
    page = PAGE.read_text()
    for kind in KINDS.values():
        operands = "any" if kind.operands is None else str(kind.operands)
        attributes = ", ".join(f"`{name}`" for name in kind.attributes)
        row = f"| `{kind.name}` | {operands} | {attributes} | {kind.meaning} |".replace(
            "|  |", "| |"
        )
        assert row in page


def test_foreign_or_broken_documents_are_refused_with_the_reason() -> None:
    document = small_graph().to_json()
    with pytest.raises(ValueError, match="version 2"):
        Graph.from_json({**document, "version": 2})
    with pytest.raises(ValueError, match="'steps'"):
        Graph.from_json({k: v for k, v in document.items() if k != "steps"})


@pytest.mark.parametrize(
    ("position", "broken", "complaint"),
    [
        (0, Step(0, "contract", (0, 1), (4,), {"inputs": ((0, 1), (2, 3)), "output": (0, 2)}), ""),
        (1, Step(1, "add", (5, 3), (5,)), "reads value 5 before it is made"),
        (1, Step(1, "mystery", (4, 3), (5,)), "unknown kind"),
        (1, Step(1, "add", (4, 3, 3), (5,)), "has 3 operands"),
        (1, Step(1, "compare", (4, 3), (5,), {"comparison": "lt"}), "makes bool"),
        (2, Step(2, "state_write", (5,), (), {}), "lacks the attribute 'state'"),
    ],
)
def test_verifier_names_the_broken_step(position: int, broken: Step, complaint: str) -> None:
    steps = list(small_graph().steps)
    steps[position] = broken
    graph = replace(small_graph(), steps=tuple(steps))
    if position == 0:
        graph = replace(
            graph,
            steps=(replace(broken, attributes={**broken.attributes, "output": (0, 1)}), *steps[1:]),
        )
        complaint = "makes f32"
    with pytest.raises(ValueError, match=complaint):
        verify(graph)


def test_reads_include_what_nested_bodies_use() -> None:
    inner = Step(0, "add", (6, 0), (7,))
    step = Step(
        0, "scan", (4,), (5,), {"start": 0, "stop": 2}, None, (Body((8, 6), (inner,), (7,)),)
    )
    assert step.reads == (4, 0)


def test_argument_lookup_lists_the_names() -> None:
    call = small_graph().semantic_calls("std.nn.linear::linear")[0]
    assert call.argument("bias") is None
    assert call.operands == (0,)
    assert call.results == (4,)
    with pytest.raises(KeyError, match="x, bias"):
        call.argument("weight")
    assert small_graph().literal(3) == float("-inf")
    assert small_graph().literal(0) is None
