"""Graphs as JSON documents, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linnet.graph.model import (
    Argument,
    Body,
    Call,
    Constant,
    Graph,
    Input,
    Parameter,
    SourceSpan,
    State,
    Step,
    Tree,
    Value,
)

FORMAT = "linnet-graph"
VERSION = 1


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """Plain dictionaries, lists, numbers and strings; equal graphs give equal documents."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "module": graph.module,
        "root": graph.root,
        "entry": graph.entry,
        "generics": _generics_out(graph.generics),
        "entry_generics": _generics_out(graph.entry_generics),
        "values": [
            {"shape": list(v.shape), "dtype": v.dtype, "origin": v.origin, "name": v.name}
            for v in graph.values
        ],
        "inputs": [{"name": i.name, "value": i.value} for i in graph.inputs],
        "result": _tree_out(graph.result),
        "parameters": [
            {"path": p.path, "value": p.value, "kind": p.kind, "optional": p.optional}
            for p in graph.parameters
        ],
        "states": [{"path": s.path, "value": s.value, "result": s.result} for s in graph.states],
        "constants": [
            {"value": c.value, "literal": _literal_out(c.literal)} for c in graph.constants
        ],
        "steps": [_step_out(step) for step in graph.steps],
        "calls": [_call_out(call) for call in graph.calls],
    }


def graph_from_json(document: Mapping[str, Any]) -> Graph:
    """Reads a document of `graph_to_json`; ValueError says what is missing or wrong."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise ValueError(
            f"expected a {FORMAT} document of version {VERSION}, got format "
            f"{document.get('format')!r}, version {document.get('version')!r}; "
            "write it again with this version's `linnet graph --json`"
        )
    try:
        return _graph_in(document)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{FORMAT}: a record is incomplete or malformed: {error!r}") from error


def _graph_in(document: Mapping[str, Any]) -> Graph:
    values = tuple(
        Value(number, tuple(v["shape"]), v["dtype"], v["origin"], v["name"])
        for number, v in enumerate(document["values"])
    )
    return Graph(
        module=document["module"],
        root=document["root"],
        entry=document["entry"],
        generics=_generics_in(document["generics"]),
        entry_generics=_generics_in(document["entry_generics"]),
        values=values,
        inputs=tuple(Input(i["name"], i["value"]) for i in document["inputs"]),
        result=_tree_in(document["result"]),
        parameters=tuple(
            Parameter(
                p["path"],
                p["value"],
                p["kind"],
                values[p["value"]].shape,
                values[p["value"]].dtype,
                p["optional"],
            )
            for p in document["parameters"]
        ),
        states=tuple(
            State(
                s["path"],
                s["value"],
                s["result"],
                values[s["value"]].shape,
                values[s["value"]].dtype,
            )
            for s in document["states"]
        ),
        constants=tuple(
            Constant(c["value"], _literal_in(c["literal"], values[c["value"]].dtype))
            for c in document["constants"]
        ),
        steps=_steps_in(document["steps"]),
        calls=_calls_in(document["calls"]),
    )


def _step_out(step: Step) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": step.kind,
        "operands": list(step.operands),
        "results": list(step.results),
        "attributes": {name: _plain(value) for name, value in step.attributes.items()},
        "span": _span_out(step.span),
    }
    if step.bodies:
        record["bodies"] = [_body_out(body) for body in step.bodies]
    return record


def _steps_in(records: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    return tuple(
        Step(
            index,
            record["kind"],
            tuple(record["operands"]),
            tuple(record["results"]),
            {name: _tuples(value) for name, value in record["attributes"].items()},
            _span_in(record["span"]),
            tuple(_body_in(body) for body in record.get("bodies", ())),
        )
        for index, record in enumerate(records)
    )


def _call_out(call: Call) -> dict[str, Any]:
    record: dict[str, Any] = {
        "callee": call.callee,
        "kind": call.kind,
        "path": call.path,
        "start": call.start,
        "stop": call.stop,
        "generics": _generics_out(call.generics),
        "arguments": [{"name": a.name, "value": _tree_out(a.value)} for a in call.arguments],
        "result": _tree_out(call.result),
        "parent": call.parent,
        "span": _span_out(call.span),
    }
    if call.gradient is not None:
        record["gradient"] = _body_out(call.gradient)
    return record


def _calls_in(records: Sequence[Mapping[str, Any]]) -> tuple[Call, ...]:
    return tuple(
        Call(
            index=index,
            callee=record["callee"],
            kind=record["kind"],
            path=record["path"],
            start=record["start"],
            stop=record["stop"],
            generics=_generics_in(record["generics"]),
            arguments=tuple(Argument(a["name"], _tree_in(a["value"])) for a in record["arguments"]),
            result=_tree_in(record["result"]),
            parent=record["parent"],
            span=_span_in(record["span"]),
            gradient=_body_in(record["gradient"]) if "gradient" in record else None,
        )
        for index, record in enumerate(records)
    )


def _body_out(body: Body) -> dict[str, Any]:
    return {
        "inputs": list(body.inputs),
        "steps": [_step_out(step) for step in body.steps],
        "outputs": list(body.outputs),
        "calls": [_call_out(call) for call in body.calls],
    }


def _body_in(record: Mapping[str, Any]) -> Body:
    return Body(
        tuple(record["inputs"]),
        _steps_in(record["steps"]),
        tuple(record["outputs"]),
        _calls_in(record["calls"]),
    )


def _tree_out(tree: Tree) -> Any:
    if tree is None or isinstance(tree, int):
        return tree
    if isinstance(tree, Mapping):
        return {name: _tree_out(part) for name, part in tree.items()}
    return [_tree_out(part) for part in tree]


def _tree_in(record: Any) -> Tree:
    if record is None or isinstance(record, int):
        return record
    if isinstance(record, Mapping):
        return {name: _tree_in(part) for name, part in record.items()}
    return tuple(_tree_in(part) for part in record)


def _span_out(span: SourceSpan | None) -> list[Any] | None:
    if span is None:
        return None
    return [span.file, span.line, span.column, span.end_line, span.end_column]


def _span_in(record: Sequence[Any] | None) -> SourceSpan | None:
    return None if record is None else SourceSpan(*record)


def _literal_out(literal: bool | int | float) -> Any:
    """JSON has no infinities and no NaN, so those are written as strings."""
    if isinstance(literal, float) and not math.isfinite(literal):
        return str(literal)
    return literal


def _literal_in(record: Any, dtype: str) -> bool | int | float:
    if dtype in ("f16", "bf16", "f32", "f64"):
        return float(record)
    if not isinstance(record, (bool, int)):
        raise TypeError(f"a constant of dtype {dtype} cannot be {record!r}")
    return record


def _generics_out(generics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in generics.items()}


def _generics_in(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _tuples(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, (tuple, list)) else value
