"""How arguments are spelled in C++ and Python."""

from __future__ import annotations

from .declaration import Attribute, Operator, Tensor
from .text import quote

_ATTRIBUTE_TYPES = {
    "scalar": "const Scalar&",
    "double": "double",
    "int": "std::int64_t",
    "bool": "bool",
    "dim": "std::int64_t",
    "dims": "std::span<const std::int64_t>",
    "enum": "std::string_view",
    "dtype": "DataType",
}
_MEMBER_TYPES = {"dims": "std::vector<std::int64_t>", "enum": "std::string"}
"""What keeps an attribute whose parameter only refers to its value."""
_PYTHON_TYPES = {
    "scalar": "complex",
    "double": "float",
    "int": "int",
    "bool": "bool",
    "dim": "int",
    "dims": "int | Sequence[int] | None",
    "enum": "str",
    "dtype": "object",
}

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
        own = _ATTRIBUTE_TYPES[argument.type]
        if argument.optional:
            own = f"const std::optional<{own.removeprefix('const ').removesuffix('&')}>&"
        return f"{own} {argument.name}"
    if argument.is_list:
        return f"std::span<const TensorView> {argument.name}"
    if argument.optional:
        return f"const std::optional<TensorView>& {argument.name}"
    if argument in outputs and by_value:
        return f"TensorView {argument.name}"
    return f"const TensorView& {argument.name}"


def member_type(argument: Tensor | Attribute) -> str:
    """The type of a member that keeps an argument."""
    if isinstance(argument, Attribute):
        own = _MEMBER_TYPES.get(argument.type, _ATTRIBUTE_TYPES[argument.type])
        own = own.removeprefix("const ").removesuffix("&")
        return f"std::optional<{own}>" if argument.optional else own
    if argument.is_list:
        return "std::vector<TensorView>"
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
    if attribute.type == "enum":
        return f"Literal[{', '.join(quote(value) for value in attribute.values)}]"
    own = _PYTHON_TYPES[attribute.type]
    return f"{own} | None" if attribute.optional else own


def python_order(operator: Operator) -> tuple[Tensor | Attribute, ...]:
    """The parameters as Python takes them: those with a position first, then the others."""
    rest = [one for one in arguments_of(operator) if one.name not in operator.positional]
    named = {one.name: one for one in arguments_of(operator)}
    return (*(named[name] for name in operator.positional), *rest)


def has_default(argument: Tensor | Attribute, operator: Operator) -> bool:
    """Whether Python may leave the argument out."""
    if isinstance(argument, Attribute):
        return argument.has_default
    return argument.optional or argument in operator.outputs


def python_signature(operator: Operator, annotated: bool = False) -> str:
    """The Python signature: required inputs, optional inputs, then keywords."""

    def spell(name: str, annotation: str, default: str | None) -> str:
        if not annotated:
            return name if default is None else f"{name}={default}"
        return f"{name}: {annotation}" + ("" if default is None else f" = {default}")

    def one(item: Tensor | Attribute) -> str:
        if isinstance(item, Attribute):
            default = python_default(item) if item.has_default else None
            return spell(item.name, python_type(item), default)
        if item.is_list:
            return spell(item.name, "Sequence[_Array]", None)
        may_be_none = has_default(item, operator)
        annotation = "_Array | None" if may_be_none else "_Array"
        return spell(item.name, annotation, "None" if may_be_none else None)

    order = python_order(operator)
    count = len(operator.positional)
    positional = [one(item) for item in order[:count]]
    keywords = [one(item) for item in order[count:]]
    keywords += [
        spell("stream", "_Stream | int | None", "None"),
        spell("implementation", "int | str | None", "None"),
        spell("config", "object", "None"),
    ]
    return f"{operator.name}({', '.join([*positional, '*', *keywords])})"
