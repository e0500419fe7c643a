"""Reads operators.json of InfiniOps into records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_support.dependencies import DependencyError

SCHEMA = 1


@dataclass(frozen=True)
class Argument:
    """A tensor argument (input or output)."""

    name: str
    dtypes: tuple[str, ...]
    dtype_like: str | None
    dtype_rule: str | None
    least_rank: int
    shape: str | None
    optional: bool
    is_list: bool
    written: bool


@dataclass(frozen=True)
class Attribute:
    """An argument that is no tensor."""

    name: str
    type: str
    has_default: bool
    default: Any
    optional: bool
    of: str | None  # dim and dims: the input whose dimensions they name


@dataclass(frozen=True)
class Overload:
    """An `aten::` overload, and where each argument of the operator comes from."""

    name: str
    sources: dict[str, str]


@dataclass(frozen=True)
class Operator:
    """One operator of the InfiniOps build."""

    name: str
    class_name: str
    header: str
    group: str  # "movement": its results are elements of its inputs
    dtypes: tuple[str, ...]  # of the main input
    inputs: tuple[Argument, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Argument, ...]
    overloads: tuple[Overload, ...]

    @property
    def main(self) -> Argument:
        """The input whose element type is the operator's."""
        own = [item for item in self.inputs if item.dtype_like is None]
        return next((item for item in own if item.dtypes == self.dtypes), self.inputs[0])


@dataclass(frozen=True)
class Declarations:
    """operators.json as a whole."""

    version: str
    infinirt_abi: int
    infiniops_abi: int
    operators: tuple[Operator, ...]


def read(path: Path) -> Declarations:
    """Reads and checks `path`.

    Raises:
        DependencyError: an unknown schema, or a build without C++ entries.
    """
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise DependencyError(
            f"{path}: expected schema {SCHEMA}, got {document.get('schema')!r}; use versions of "
            f"InfiniOps and torch-infini that belong together"
        )
    if not document["cpp_entries"]:
        raise DependencyError(
            f"{path}: this InfiniOps has no C++ entries to call; configure it with "
            f"-DGENERATE_OPERATOR_CALL_INSTANTIATIONS=ON"
        )
    operators = tuple(_operator(name, body) for name, body in document["operators"].items())
    return Declarations(
        version=document["version"],
        infinirt_abi=document["abi"]["infinirt"],
        infiniops_abi=document["abi"]["infiniops"],
        operators=tuple(sorted(operators, key=lambda operator: operator.name)),
    )


def _argument(body: dict[str, Any]) -> Argument:
    return Argument(
        name=body["name"],
        dtypes=tuple(body["dtypes"]),
        dtype_like=body["dtype_like"],
        dtype_rule=body.get("dtype_rule"),
        least_rank=body["rank"][0],
        shape=body["shape"],
        optional=body.get("optional", False),
        is_list=body.get("list", False),
        written=body.get("written", False),
    )


def _attribute(body: dict[str, Any]) -> Attribute:
    return Attribute(
        name=body["name"],
        type=body["type"],
        has_default="default" in body,
        default=body.get("default"),
        optional=body.get("optional", False),
        of=body.get("of"),
    )


def _operator(name: str, body: dict[str, Any]) -> Operator:
    return Operator(
        name=name,
        class_name=body["class"],
        header=body["header"],
        group=body["group"],
        dtypes=tuple(body["dtypes"]),
        inputs=tuple(_argument(item) for item in body["inputs"]),
        attributes=tuple(_attribute(item) for item in body["attributes"]),
        outputs=tuple(_argument(item) for item in body["outputs"]),
        overloads=tuple(Overload(item["overload"], item["arguments"]) for item in body["aten"]),
    )
