"""What PyTorch itself says about an overload: its arguments and its structured class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


class UnservedError(Exception):
    """An overload cannot be registered; the text says why."""


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
    "str": "c10::string_view",
    "Optional[str]": "std::optional<c10::string_view>",
    "List[int]": "c10::IntArrayRef",
    "Optional[List[int]]": "at::OptionalIntArrayRef",
    "ScalarType": "c10::ScalarType",
    "Optional[ScalarType]": "std::optional<c10::ScalarType>",
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
    """A structured kernel: the forms of an operator and the class that checks and allocates."""

    out: Schema | None
    functional: Schema
    in_place: Schema | None
    header: str
    class_name: str
    elementwise: bool
    results: int = 1

    @property
    def out_names(self) -> tuple[str, ...]:
        """The parameters that take the results, in their order."""
        if self.out is None:
            return ("result0",)
        return tuple(parameter.name for parameter in self.out.parameters if parameter.out)


def find(name: str) -> Schema:
    """Returns the schema of `aten::base.overload`.

    Raises:
        UnservedError: this torch has no such overload.
    """
    import torch

    base, _, overload = name.removeprefix("aten::").partition(".")
    try:
        schema = torch._C._get_schema(f"aten::{base}", overload)
    except RuntimeError as error:
        raise UnservedError(f"torch {torch.__version__} has no such overload") from error
    parameters = tuple(
        Parameter(argument.name, str(argument.real_type), argument.is_out)
        for argument in schema.arguments
    )
    return Schema(base, overload, parameters, len(schema.returns))


def is_composed(name: str) -> bool:
    """Whether `aten::base.overload` has gradients only because PyTorch composes it of others."""
    import torch

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return has_kernel(name, "CompositeImplicitAutograd") and not has_kernel(name, "Autograd")


def overloads(base: str) -> list[Schema]:
    """Returns every overload of `aten::base`."""
    import torch

    name = f"aten::{base}"
    found = [schema for schema in torch._C._jit_get_all_schemas() if schema.name == name]
    return [find(f"{name}.{schema.overload_name}") for schema in found]


# Elementwise operators without a structured class of PyTorch; ours: csrc/ops/elementwise_meta.h.
ELEMENTWISE = {
    "abs": "Unary",
    "relu": "Unary",
    "logical_not": "UnaryPredicate",
    "logical_and": "BinaryPredicate",
    "logical_or": "BinaryPredicate",
    "logical_xor": "BinaryPredicate",
    "floor_divide": "Binary",
    "where.self": "Where",
}


def find_structured(overload: Schema, torch_include: Path) -> Structured | None:
    """Returns the structured kernel that `overload` belongs to; None when there is none."""
    out = overload if any(parameter.out for parameter in overload.parameters) else None
    functional = overload if out is None else _functional_of(out)
    if functional is None:
        return None
    in_place = next(
        (
            schema
            for schema in overloads(f"{functional.base}_")
            if [p.type for p in schema.parameters] == [p.type for p in functional.parameters]
        ),
        None,
    )
    if (name := ELEMENTWISE.get(functional.key)) is not None:
        header = "ops/elementwise_meta.h"
        return Structured(out, functional, in_place, f'"{header}"', f"meta::{name}", True)
    header = f"ATen/ops/{functional.base}_meta.h"
    path = torch_include / header
    if out is None or not path.is_file():
        return None
    class_name = "structured_" + functional.key.replace(".", "_")
    text = path.read_text(encoding="utf-8")
    match = re.search(rf"struct TORCH_API {class_name} : public ([\w:]+) \{{", text)
    if match is None:
        return None
    return Structured(
        out,
        functional,
        in_place,
        f"<{header}>",
        f"at::meta::{class_name}",
        match[1].endswith("TensorIteratorBase"),
        functional.results,
    )


def _functional_of(out: Schema) -> Schema | None:
    """Returns the overload that makes the results which `out` takes."""
    plain = [
        schema
        for schema in overloads(out.base)
        if schema.parameters == out.inputs and not any(p.out for p in schema.parameters)
    ]
    return plain[0] if plain else None


def forms(overload: Schema) -> tuple[Schema, Schema | None]:
    """Returns the functional form and the `out` form that belong to `overload`.

    Raises:
        UnservedError: an `out` form has no functional one.
    """
    if not any(parameter.out for parameter in overload.parameters):
        return overload, None
    functional = _functional_of(overload)
    if functional is None:
        raise UnservedError("PyTorch has no functional form of it")
    return functional, overload
