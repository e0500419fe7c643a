"""Writes the C++ of the kernels that serve one overload.

Every kernel ends in one function that calls the operator (`Run...`). Around it are the forms of the
overload: those of a structured kernel, whose class checks operands and allocates results, or those
that follow the shape rule of operators.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from build_support import schemas
from build_support.declarations import Argument, Attribute, Operator, Overload
from build_support.schemas import Schema, Structured, UnservedError
from build_support.shape_rules import shape_statements

SCALAR_TYPES = {
    "bool": "Bool",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
}

# What an overload may say and the operator does not take: either the class of a structured kernel
# has dealt with it, or it concerns the backward pass alone.
IGNORED = {"dtype", "half_to_float", "sparse_grad"}
BACKWARD_ONLY = {"padding_idx", "scale_grad_by_freq", "sparse", "sparse_grad"}


@dataclass(frozen=True)
class Kernels:
    """C++ for one overload."""

    includes: tuple[str, ...]
    functions: str
    registrations: tuple[tuple[str, str], ...]  # overload, function
    sources: tuple[str, ...] = ()
    at_registration: str = ""


def camel(key: str) -> str:
    """Returns a C++ name for an overload: "_softmax.out" gives "InnerSoftmaxOut"."""
    words = [word for word in re.split(r"[._]", key) if word]
    return ("Inner" if key.startswith("_") else "") + "".join(
        word[0].upper() + word[1:] for word in words
    )


def structured(info: str, operator: Operator, overload: Overload, kernel: Structured) -> Kernels:
    """All forms of a structured kernel: they differ in who owns the results."""
    functional = kernel.functional
    _check_parameters(functional, overload, IGNORED)
    names = ", ".join(parameter.name for parameter in functional.parameters)
    parameters = ", ".join(_declared(parameter) for parameter in functional.parameters)
    given = ", ".join(
        f"MetaArgument({p.name})" if p.type in ("Optional[number]", "Optional[Tensor]") else p.name
        for p in functional.parameters
    )
    name = camel(functional.key)
    outs = kernel.out_names
    form = f"<{kernel.class_name}{f', {len(outs)}' if len(outs) > 1 else ''}>"
    results = ", ".join(f"op.Result({i})" for i in range(len(outs)))
    out_parameters = ", ".join(f"at::Tensor& {out}" for out in outs)
    type_of = "op.common_dtype()" if kernel.elementwise else None

    def checked(targets: tuple[str, ...]) -> str:
        """The check of the type that comes before PyTorch's class may resize a result."""
        if kernel.elementwise:
            return "  op.CheckTypes(kInfo);"
        source = overload.sources.get(operator.main.name)
        tensors = {p.name for p in functional.parameters if p.type == "Tensor"}
        type_ = f"{source if source in tensors else targets[0]}.scalar_type()"
        return (
            f"  CheckEitherType(kInfo, {type_}, {targets[0]}.scalar_type(), {targets[0]}.device());"
        )

    text = [
        *_run(name, operator, overload, functional, outs, type_of, kernel.class_name),
        f"{_result_type(len(outs))} {name}({parameters}) {{",
        f"  FunctionalForm{form} op;",
        f"  op.meta({given});",
        f"  Run{name}(op, {names}, {results});",
        f"  return {_moved(len(outs))};",
        "}",
        "",
    ]
    registrations = [(functional.key, name)]
    if kernel.out is not None:
        text += _writing(
            f"{name}Out",
            f"{parameters}, {out_parameters}",
            form,
            outs,
            (given, names),
            name,
            checked(outs),
        )
        registrations.append((kernel.out.key, f"{name}Out"))
    if kernel.in_place is not None and len(outs) == 1:
        first = functional.parameters[0].name
        changed = parameters.replace(f"const at::Tensor& {first}", f"at::Tensor& {first}", 1)
        text += _writing(
            f"{name}InPlace", changed, form, (first,), (given, names), name, checked((first,)), True
        )
        registrations.append((kernel.in_place.key, f"{name}InPlace"))
    return Kernels(
        includes=(
            kernel.header,
            f"<{operator.header}>",
            '"ops/operator_call.h"',
            '"ops/structured.h"',
        ),
        functions="\n".join(text).replace("kInfo", info),
        registrations=tuple(registrations),
    )


def shaped(
    info: str, operator: Operator, overload: Overload, functional: Schema, out: Schema | None
) -> Kernels:
    """Forms whose results have the shapes that operators.json gives."""
    _check_parameters(functional, overload, BACKWARD_ONLY)
    outs = tuple(p.name for p in out.parameters if p.out) if out else ()
    if functional.results != len(operator.outputs) or functional.results == 0:
        raise UnservedError(
            f"it has {functional.results} results and the operator {len(operator.outputs)}"
        )
    places = {overload.sources.get(output.name): output for output in operator.outputs}
    expected = outs or tuple(f"result{i}" for i in range(functional.results))
    if set(places) != set(expected):
        raise UnservedError(f"the operator does not give {', '.join(expected)}")
    outputs = [places[name] for name in expected]
    name = camel(functional.key)
    names = ", ".join(parameter.name for parameter in functional.parameters)
    parameters = ", ".join(parameter.cpp for parameter in functional.parameters)
    tensors = {
        argument.name: overload.sources[argument.name]
        for argument in operator.inputs
        if argument.name in overload.sources
    }
    main = tensors[operator.main.name]
    values = dict(overload.sources)
    results = [f"result{i}" for i in range(len(outputs))]
    text = [
        *_run(name, operator, overload, functional, tuple(expected), None, None),
        f"{_result_type(len(outputs))} {name}({parameters}) {{",
        *_checks(operator, tensors, main),
    ]
    for result, output in zip(results, outputs, strict=True):
        text += [
            f"  Shape {result}_shape;",
            *(f"  {line}" for line in shape_statements(output, tensors, values, f"{result}_shape")),
            f"  at::Tensor {result} = EmptyStrided(",
            f"      {result}_shape, c10::contiguous_strides({result}_shape),",
            f"      {_type_of(output, operator)}.Of({main}.scalar_type()),",
            f"      {main}.device().index());",
        ]
    text += [
        f"  Run{name}({names}, {', '.join(results)});",
        f"  return {results[0] if len(results) == 1 else '{' + ', '.join(results) + '}'};",
        "}",
        "",
    ]
    registrations = [(functional.key, name)]
    if out is not None and len(outputs) == 1:
        (target,) = outs
        text += [
            f"at::Tensor& {name}Out({parameters}, at::Tensor& {target}) {{",
            *_checks(operator, tensors, main),
            "  Shape shape;",
            *(f"  {line}" for line in shape_statements(outputs[0], tensors, values, "shape")),
            f"  CheckOut(kInfo, {target}, {main}.device(),",
            f"           {_type_of(outputs[0], operator)}.Of({main}.scalar_type()),",
            f"           /*converts=*/{'false' if operator.group == 'movement' else 'true'});",
            f"  at::native::resize_output({target}, shape);",
            f"  Run{name}({names}, {target});",
            f"  return {target};",
            "}",
            "",
        ]
        registrations.append((out.key, f"{name}Out"))
    return Kernels(
        includes=(
            "<ATen/native/Resize.h>",
            f"<{operator.header}>",
            '"ops/operator_call.h"',
            '"ops/shape.h"',
        ),
        functions="\n".join(text).replace("kInfo", info),
        registrations=tuple(registrations),
    )


def _check_parameters(schema: Schema, overload: Overload, ignored: set[str]) -> None:
    used = set(overload.sources.values())
    for parameter in schema.parameters:
        if parameter.type not in schemas.CPP_TYPES:
            raise UnservedError(f"its argument `{parameter.name}` is a {parameter.type}")
        if parameter.name not in used | ignored:
            raise UnservedError(f"the operator does not take `{parameter.name}`")


def _declared(parameter: schemas.Parameter) -> str:
    """A parameter of a structured kernel, which takes lists of tensors in a form of their own."""
    if parameter.type == "List[Tensor]":
        return f"const at::ITensorListRef& {parameter.name}"
    return parameter.cpp


def _result_type(count: int) -> str:
    return "at::Tensor" if count == 1 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"


def _moved(count: int) -> str:
    moved = [f"std::move(op.Result({i}))" for i in range(count)]
    return moved[0] if count == 1 else "{" + ", ".join(moved) + "}"


def _writing(
    function: str,
    parameters: str,
    form: str,
    targets: tuple[str, ...],
    passed: tuple[str, str],  # to PyTorch's class, and to the function that calls the operator
    run: str,
    check: str,
    in_place: bool = False,
) -> list[str]:
    """A form that writes into given tensors."""
    results = ", ".join(f"op.Result({i})" for i in range(len(targets)))
    if len(targets) == 1:
        result_type, returned = "at::Tensor&", targets[0]
    else:
        result_type = f"std::tuple<{', '.join(['at::Tensor&'] * len(targets))}>"
        returned = "{" + ", ".join(targets) + "}"
    written = f"/*in_place=*/{'true' if in_place else 'false'}, {', '.join(targets)}"
    return [
        f"{result_type} {function}({parameters}) {{",
        f"  OutForm{form} op({written});",
        check,
        f"  op.meta({passed[0]});",
        f"  Run{run}(op, {passed[1]}, {results});",
        "  op.Finish();",
        f"  return {returned};",
        "}",
        "",
    ]


def _type_of(output: Argument, operator: Operator) -> str:
    """C++ for the `ResultType` of `output`."""
    if output.dtype_rule is not None:
        kind, _, name = output.dtype_rule.rpartition(" ")
        if kind == "sum of" and name == operator.main.name:
            return "ResultType{ResultType::Rule::kSum}"
        raise UnservedError(f"the type rule {output.dtype_rule!r} of its result is unknown")
    if output.dtype_like is not None:
        return "ResultType{}"
    if len(output.dtypes) == 1:
        scalar = SCALAR_TYPES[output.dtypes[0]]
        return f"ResultType{{ResultType::Rule::kFixed, c10::ScalarType::{scalar}}}"
    raise UnservedError(f"nothing says the type of its result `{output.name}`")


def _run(
    name: str,
    operator: Operator,
    overload: Overload,
    schema: Schema,
    outs: tuple[str, ...],
    type_of: str | None,
    class_name: str | None,
) -> list[str]:
    """The function that calls the operator."""
    parameters = ", ".join(
        [
            *([f"[[maybe_unused]] {class_name}& op"] if class_name else []),
            *(f"[[maybe_unused]] {_declared(p)}" for p in schema.parameters),
            *(f"const at::Tensor& {out}" for out in outs),
        ]
    )
    types = {parameter.name: parameter.type for parameter in schema.parameters}
    main = overload.sources.get(operator.main.name)
    if main is None:
        raise UnservedError(f"nothing gives its argument `{operator.main.name}`")
    lines = [f"void Run{name}({parameters}) {{"]
    if type_of is None:
        lines += [
            f'  CheckPlace(kInfo, "{p.name}", {p.name}, {outs[0]}.device());'
            for p in schema.parameters
            if p.type in ("Tensor", "Optional[Tensor]", "List[Tensor]")
        ]
        first = next(o for o in operator.outputs if overload.sources.get(o.name) == outs[0])
        type_of = (
            f"{outs[0]}.scalar_type()"
            if types[main] in ("List[Tensor]", "number")
            else f"ComputeType({main}.scalar_type(), {outs[0]}.scalar_type(), "
            f"{_type_of(first, operator)})"
        )
    lines.append(f"  OperatorCall call(kInfo, {outs[0]}.device(), {type_of});")
    for argument in operator.inputs:
        if argument.is_list:
            source = overload.sources[argument.name]
            lines += [
                f"  const auto {source}_views = call.Inputs({source});",
                f"  if ({source}_views.empty()) return;",
            ]
    arguments = ",\n        ".join(_arguments(operator, overload, types, outs))
    return [
        *lines,
        "  WithTorchErrors([&] {",
        f"    infini::ops::{operator.class_name}::Call(",
        f"        call.context(), {arguments});",
        "  });",
        "  call.Finish();",
        "}",
        "",
    ]


def _arguments(
    operator: Operator, overload: Overload, types: dict[str, str], outs: tuple[str, ...]
) -> Iterator[str]:
    """Yields the arguments of the operator's entry after the context."""
    for argument in operator.inputs:
        source = overload.sources.get(argument.name)
        if argument.written:
            raise UnservedError(f"it would change its argument `{argument.name}`")
        if source is None:
            if not argument.optional:
                raise UnservedError(f"nothing gives its argument `{argument.name}`")
            yield "std::nullopt"
        elif argument.is_list:
            yield f"{source}_views"
        else:
            own_type = argument is not operator.main and argument.dtype_like is None
            yield f"call.{'Given' if own_type else 'Input'}({source})"
    for attribute in operator.attributes:
        yield _attribute(operator, overload, attribute, types)
    for output in operator.outputs:
        target = overload.sources.get(output.name)
        if target not in outs:
            raise UnservedError(f"nothing takes its result `{output.name}`")
        yield f"call.Output({target}, {_type_of(output, operator)})"


def _attribute(
    operator: Operator, overload: Overload, attribute: Attribute, types: dict[str, str]
) -> str:
    """C++ for the value of an attribute."""
    source = overload.sources.get(attribute.name)
    if source is None:
        if not attribute.has_default and not attribute.optional:
            raise UnservedError(f"nothing gives `{attribute.name}`")
        return _literal(attribute)
    given = types[source]
    optional = given.startswith("Optional[")
    if attribute.type == "dims":
        tensor = overload.sources[attribute.of or operator.main.name]
        return f"Dims({source}).Of({tensor})"
    if optional and not attribute.optional:
        raise UnservedError(f"`{source}` may be absent, and `{attribute.name}` may not")
    if attribute.type == "scalar":
        return f"ToScalar({source})"
    if given == "number":
        cpp = {"double": "double", "int": "std::int64_t", "bool": "bool", "dim": "std::int64_t"}
        return f"{source}.to<{cpp[attribute.type]}>()"
    accepted = {
        "double": {"float"},
        "int": {"int"},
        "bool": {"bool"},
        "dim": {"int"},
        "enum": {"str"},
    }
    plain = given.removeprefix("Optional[").removesuffix("]")
    if plain not in accepted.get(attribute.type, set()):
        raise UnservedError(f"`{source}` is a {given}, and `{attribute.name}` a {attribute.type}")
    return source


def _literal(attribute: Attribute) -> str:
    """C++ for the default of an attribute."""
    value: Any = attribute.default
    if attribute.type == "dims":
        if value in (None, []):
            return "std::span<const std::int64_t>{}"
        raise UnservedError(f"the default {value!r} of `{attribute.name}` is unknown")
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int) and attribute.type != "double":
        return f"std::int64_t{{{value}}}"
    return repr(float(value))


def _checks(operator: Operator, tensors: dict[str, str], main: str) -> Iterator[str]:
    """Yields checks of what the shape rule reads."""
    for argument in operator.inputs:
        if (name := tensors.get(argument.name)) is None:
            continue
        indent, value = "", name
        if argument.optional:
            yield f"  if ({name}.has_value() && {name}->defined()) {{"
            indent, value = "  ", f"*{name}"
        yield f'  {indent}CheckPlace(kInfo, "{name}", {value}, {main}.device());'
        if argument.dtype_like is not None:
            yield f'  {indent}CheckSameType(kInfo, "{name}", {value}, "{main}", {main});'
        if argument.least_rank > 0:
            yield f'  {indent}CheckRank(kInfo, "{name}", {value}, {argument.least_rank});'
        if argument.optional:
            yield "  }"
    yield f"  CheckType(kInfo, {main}.scalar_type(), {main}.device());"
