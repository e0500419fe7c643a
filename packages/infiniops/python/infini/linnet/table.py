"""Which Linnet ops and steps the operators of this build compute, from `operators.json`."""

from __future__ import annotations

import json
import re
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
#: InfiniOps' names by Linnet's.
OPERATOR_DTYPES = {linnet: name for name, linnet in LINNET_DTYPES.items()}

_BOUND = re.compile(r"(\w+)\.shape\[(-?\d+)\](?: - (\w+)\.shape\[(-?\d+)\] \+ 1)?")

#: What `Source.kind` may be.
KINDS = ("argument", "operand", "value", "attribute", "result")


@dataclass(frozen=True)
class Source:
    """Where an argument of an operator takes its value from: `what` of the op's `argument`, the
    step's `operand`, a fixed `value`, the step's `attribute`, or the `result`'s dtype. `view` is an
    index that moves no element: `:` (a dimension as it is) and None (a new one).
    """

    kind: str
    what: Any
    view: tuple[slice | None, ...] = ()


@dataclass(frozen=True)
class Bound:
    """The size of a dimension of one argument, less that of another, plus 1, where there is one."""

    size: tuple[str, int]
    less: tuple[str, int] | None


@dataclass(frozen=True)
class Argument:
    """A tensor argument of an operator; `dtypes` are Linnet's names, `ranks` least and greatest,
    those of the view where its source has one. `below`: its elements are positions from 0 up to
    this bound, such as `cache.shape[2] - values.shape[2] + 1`.
    """

    name: str
    source: Source
    dtypes: frozenset[str]
    ranks: tuple[int, int | None]
    optional: bool
    below: Bound | None


@dataclass(frozen=True)
class Mapped:
    """An operator, and the Linnet op or step kind that it computes: exactly one of the two.

    `attributes`: the operator's attribute -> where its value comes from. `when`: attributes that
    the step must have. `aliases`: the arguments that the output may be written over.
    """

    operator: str
    op: str | None
    step: str | None
    when: Mapping[str, str]
    arguments: tuple[Argument, ...]
    attributes: Mapping[str, Source]
    aliases: frozenset[str]
    devices: frozenset[str]


def read_table(path: Path) -> tuple[Mapped, ...]:
    """The mapped operators in the file at `path`, by name.

    ValueError for a schema that this version does not know, or an entry that names what the
    operator has not.
    """
    found = []
    for name, operator in read_operators(path).items():
        for entry in operator.get("linnet", ()):
            found.append(_mapped(path, name, operator, entry))
    return tuple(found)


def read_operators(path: Path) -> Mapping[str, Any]:
    """The operators of the file at `path` by name. ValueError for a schema that is not known."""
    document: Any = json.loads(path.read_text(encoding="utf-8"))
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ValueError(
            f"{path}: schema {schema!r}; this version of infini.linnet reads {SCHEMA}. Install "
            "releases of infiniops that belong together"
        )
    operators: Mapping[str, Any] = document["operators"]
    return operators


def devices_of(operator: Any) -> frozenset[str]:
    """The devices that an operator's record names implementations for."""
    return frozenset(device for device, slots in operator["implementations"].items() if slots)


def _mapped(path: Path, name: str, operator: Any, entry: Any) -> Mapped:
    where = f"{path}: operators.{name}.linnet"
    op, step = entry.get("op"), entry.get("step")
    if (op is None) == (step is None):
        raise ValueError(f"{where}: expected exactly one of `op` and `step`, got {entry!r}")
    inputs = {one["name"]: one for one in operator["inputs"]}
    attributes = {one["name"] for one in operator["attributes"]}
    sources = {key: _source(where, one, op) for key, one in entry["arguments"].items()}
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
        when=dict(entry.get("when", {})),
        arguments=tuple(
            _argument(one, sources[one["name"]])
            for one in inputs.values()
            if one["name"] in sources
        ),
        attributes={n: source for n, source in sources.items() if n in attributes},
        aliases=frozenset(operator["outputs"][0].get("may_alias", ())),
        devices=devices_of(operator),
    )


def _argument(tensor: Any, source: Source) -> Argument:
    least, greatest = tensor["rank"]
    below = tensor.get("below")
    return Argument(
        name=tensor["name"],
        source=source,
        dtypes=frozenset(LINNET_DTYPES[d] for d in tensor["dtypes"] if d in LINNET_DTYPES),
        ranks=(least, greatest),
        optional=tensor["optional"],
        below=None if below is None else _bound(below),
    )


def _bound(text: str) -> Bound:
    match = _BOUND.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no bound of elements")
    name, dim, other, other_dim = match.groups()
    return Bound((name, int(dim)), (other, int(other_dim)) if other else None)


def _source(where: str, record: Any, op: str | None) -> Source:
    if not isinstance(record, dict):
        return Source("operand" if op is None else "argument", record)
    fields = dict(record)
    view = fields.pop("view", ())
    ((kind, what),) = fields.items() if len(fields) == 1 else [("", None)]
    if kind not in KINDS or not all(item in (":", "None") for item in view):
        raise ValueError(f"{where}: {record!r} is no source of an argument")
    return Source(kind, what, tuple(None if item == "None" else slice(None) for item in view))
