"""How arguments are spelled in C++ and Python."""

from __future__ import annotations

from .declaration import Attribute, Operator, Tensor

_ATTRIBUTE_TYPES = {
    "scalar": "const Scalar&",
    "double": "double",
    "int": "std::int64_t",
    "bool": "bool",
}
_PYTHON_TYPES = {"scalar": "complex", "double": "float", "int": "int", "bool": "bool"}

DTYPE_CONSTANTS = {
    "bool": "kBool",
    "int8": "kInt8",
    "int16": "kInt16",
    "int32": "kInt32",
    "int64": "kInt64",
    "uint8": "kUInt8",
    "uint16": "kUInt16",
    "uint32": "kUInt32",
    "uint64": "kUInt64",
    "float16": "kFloat16",
    "bfloat16": "kBFloat16",
    "float32": "kFloat32",
    "float64": "kFloat64",
    "complex64": "kComplex64",
    "complex128": "kComplex128",
}
"""Names of the element types -> enumerators of `infini::rt::DataType`."""


def parameter(argument: Tensor | Attribute, outputs: tuple[Tensor, ...], by_value: bool) -> str:
    """The declaration of one parameter; outputs are taken `by_value` in public entries."""
    if isinstance(argument, Attribute):
        if argument.optional:
            return f"const {member_type(argument)}& {argument.name}"
        return f"{_ATTRIBUTE_TYPES[argument.type]} {argument.name}"
    if argument.optional:
        return f"const std::optional<TensorView>& {argument.name}"
    if argument in outputs and by_value:
        return f"TensorView {argument.name}"
    return f"const TensorView& {argument.name}"


def member_type(argument: Tensor | Attribute) -> str:
    """The type of a member that keeps an argument."""
    if isinstance(argument, Attribute):
        kind = _ATTRIBUTE_TYPES[argument.type].removeprefix("const ").removesuffix("&")
        return f"std::optional<{kind}>" if argument.optional else kind
    return "std::optional<TensorView>" if argument.optional else "TensorView"


def arguments_of(operator: Operator) -> tuple[Tensor | Attribute, ...]:
    """Inputs, attributes, outputs: the order of every C++ entry after the context."""
    return (*operator.inputs, *operator.attributes, *operator.outputs)


def given_arguments(operator: Operator) -> tuple[Tensor | Attribute, ...]:
    """Inputs and attributes: what the outputs follow from."""
    return (*operator.inputs, *operator.attributes)


def call_parameters(operator: Operator, *, by_value: bool = True, context: bool = True) -> str:
    """The parameter list of `Call`."""
    parameters = [
        parameter(argument, operator.outputs, by_value) for argument in arguments_of(operator)
    ]
    return ", ".join((["const Context& context"] if context else []) + parameters)


def call_arguments(operator: Operator) -> str:
    """The arguments of `Call` after the context, forwarded under their own names."""
    return ", ".join(argument.name for argument in arguments_of(operator))


def input_parameters(operator: Operator) -> str:
    """The parameter list of `Infer`: everything but the outputs."""
    return ", ".join(
        parameter(argument, operator.outputs, True) for argument in given_arguments(operator)
    )


def python_default(attribute: Attribute) -> str:
    """The default of an attribute as Python source."""
    return repr(attribute.default)


def python_type(attribute: Attribute) -> str:
    """The annotation of an attribute; a scalar's accepts any Python number."""
    return _PYTHON_TYPES[attribute.type] + (" | None" if attribute.optional else "")


def python_signature(operator: Operator, annotated: bool = False) -> str:
    """The Python signature: required inputs, optional inputs, then keywords."""

    def spell(name: str, annotation: str, default: str | None) -> str:
        if not annotated:
            return name if default is None else f"{name}={default}"
        return f"{name}: {annotation}" + ("" if default is None else f" = {default}")

    positional = [
        spell(
            item.name,
            "_Array | None" if item.optional else "_Array",
            "None" if item.optional else None,
        )
        for item in operator.inputs
    ]
    keywords = [
        spell(item.name, python_type(item), python_default(item) if item.has_default else None)
        for item in operator.attributes
    ]
    keywords += [spell(item.name, "_Array | None", "None") for item in operator.outputs]
    keywords += [
        spell("stream", "_Stream | int | None", "None"),
        spell("implementation", "int | str | None", "None"),
        spell("config", "object", "None"),
    ]
    return f"{operator.name}({', '.join([*positional, '*', *keywords])})"
