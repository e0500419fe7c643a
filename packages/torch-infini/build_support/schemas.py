"""What PyTorch itself says about an overload: its arguments and its structured class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from build_support.dependencies import DependencyError

# C++ parameter types of dispatcher kernels, by schema type.
CPP_TYPES = {
    "Tensor": "const at::Tensor&",
    "Optional[Tensor]": "const std::optional<at::Tensor>&",
    "number": "const at::Scalar&",
    "Optional[number]": "const std::optional<at::Scalar>&",
    "float": "double",
    "Optional[float]": "std::optional<double>",
    "int": "std::int64_t",
    "Optional[int]": "std::optional<std::int64_t>",
    "bool": "bool",
    "List[int]": "c10::IntArrayRef",
    "List[Tensor]": "at::TensorList",
}


@dataclass(frozen=True)
class Parameter:
    """One argument of an overload."""

    name: str
    type: str
    out: bool

    @property
    def cpp(self) -> str:
        """Declaration in a kernel."""
        return f"{CPP_TYPES[self.type]} {self.name}"


@dataclass(frozen=True)
class Schema:
    """An overload: `aten::<base>.<overload>`."""

    base: str
    overload: str
    parameters: tuple[Parameter, ...]
    results: int

    @property
    def key(self) -> str:
        """Name for `torch::Library::impl`."""
        return f"{self.base}.{self.overload}" if self.overload else self.base

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Parameters without `out` ones."""
        return tuple(parameter for parameter in self.parameters if not parameter.out)


@dataclass(frozen=True)
class Structured:
    """A structured kernel: the three forms of an operator and PyTorch's class for them."""

    out: Schema
    functional: Schema
    in_place: Schema | None
    header: str
    class_name: str
    elementwise: bool


def find(name: str) -> Schema:
    """Returns the schema of `aten::base.overload`.

    Raises:
        DependencyError: this torch has no such overload.
    """
    import torch

    base, _, overload = name.removeprefix("aten::").partition(".")
    try:
        schema = torch._C._get_schema(f"aten::{base}", overload)
    except RuntimeError as error:
        raise DependencyError(
            f"operators.json names {name}, which torch {torch.__version__} does not have"
        ) from error
    parameters = tuple(
        Parameter(argument.name, str(argument.real_type), argument.is_out)
        for argument in schema.arguments
    )
    return Schema(base, overload, parameters, len(schema.returns))


def overloads(base: str) -> list[Schema]:
    """Returns every overload of `aten::base`."""
    import torch

    name = f"aten::{base}"
    found = [schema for schema in torch._C._jit_get_all_schemas() if schema.name == name]
    return [find(f"{name}.{schema.overload_name}") for schema in found]


def find_structured(out: Schema, torch_include: Path) -> Structured | None:
    """Returns the structured kernel of an `out` overload; None when it is not structured."""
    header = f"ATen/ops/{out.base}_meta.h"
    path = torch_include / header
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    functional = next(
        (
            schema
            for schema in overloads(out.base)
            if schema.parameters == out.inputs and not any(p.out for p in schema.parameters)
        ),
        None,
    )
    if functional is None:
        return None
    class_name = "structured_" + functional.key.replace(".", "_")
    match = re.search(
        rf"struct TORCH_API {class_name} : public ([\w:]+) \{{(.*?)\n\}};", text, re.S
    )
    # A `meta` that returns precomputed values needs an adapter of its own.
    if match is None or "void meta(" not in match[2]:
        return None
    in_place = next(
        (
            schema
            for schema in overloads(f"{out.base}_")
            if [p.type for p in schema.parameters] == [p.type for p in functional.parameters]
        ),
        None,
    )
    return Structured(
        out, functional, in_place, header, class_name, match[1].endswith("TensorIteratorBase")
    )
