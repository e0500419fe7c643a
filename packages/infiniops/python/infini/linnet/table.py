"""Which Linnet ops and steps the operators of this build compute, from `operators.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = 1

#: Linnet's element types by InfiniOps' names.
LINNET_DTYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


@dataclass(frozen=True)
class Argument:
    """A tensor argument of an operator: `source` is the Linnet op's argument by name, or the
    operand of a step by position; `dtypes` are Linnet's names; `ranks` least and greatest.
    """

    name: str
    source: str | int
    dtypes: frozenset[str]
    ranks: tuple[int, int | None]
    optional: bool


@dataclass(frozen=True)
class Mapped:
    """An operator, and the Linnet op or step kind that it computes: exactly one of the two.

    `attributes`: the operator's attribute -> the op's argument whose number it takes.
    """

    operator: str
    op: str | None
    step: str | None
    arguments: tuple[Argument, ...]
    attributes: Mapping[str, str]
    devices: frozenset[str]


def read_table(path: Path) -> tuple[Mapped, ...]:
    """The mapped operators in the file at `path`, by name.

    ValueError for a schema that this version does not know, or an entry that names what the
    operator has not.
    """
    document: Any = json.loads(path.read_text(encoding="utf-8"))
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ValueError(
            f"{path}: schema {schema!r}; this version of infini.linnet reads {SCHEMA}. Install "
            "releases of infiniops that belong together"
        )
    found = []
    for name, operator in document["operators"].items():
        for entry in operator.get("linnet", ()):
            found.append(_mapped(path, name, operator, entry))
    return tuple(found)


def _mapped(path: Path, name: str, operator: Any, entry: Any) -> Mapped:
    where = f"{path}: operators.{name}.linnet"
    op, step = entry.get("op"), entry.get("step")
    if (op is None) == (step is None):
        raise ValueError(f"{where}: expected exactly one of `op` and `step`, got {entry!r}")
    sources = dict(entry["arguments"])
    inputs = {one["name"]: one for one in operator["inputs"]}
    attributes = {one["name"] for one in operator["attributes"]}
    unknown = sorted(set(sources) - set(inputs) - attributes)
    if unknown:
        raise ValueError(f"{where}: the operator has no argument {unknown[0]!r}")
    missing = [n for n, one in inputs.items() if n not in sources and not one["optional"]]
    if missing:
        raise ValueError(f"{where}: does not say what the input {missing[0]!r} is")
    if len(operator["outputs"]) != 1:
        raise ValueError(f"{where}: operators with one output are mapped, this one has several")
    return Mapped(
        operator=name,
        op=op,
        step=step,
        arguments=tuple(
            Argument(
                one["name"],
                sources[one["name"]],
                frozenset(LINNET_DTYPES[d] for d in one["dtypes"] if d in LINNET_DTYPES),
                (one["rank"][0], one["rank"][1]),
                one["optional"],
            )
            for one in inputs.values()
            if one["name"] in sources
        ),
        attributes={n: str(sources[n]) for n in sources if n in attributes},
        devices=frozenset(d for d, slots in operator["implementations"].items() if slots),
    )
