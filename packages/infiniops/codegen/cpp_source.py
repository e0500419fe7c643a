"""Writes `base/<operator>.cc`: the checks, the implementation table, and the entries."""

from __future__ import annotations

from .cpp_types import (
    DTYPE_CONSTANTS,
    arguments_of,
    call_arguments,
    call_parameters,
    given_arguments,
    input_parameters,
    parameter,
)
from .declaration import Attribute, Operator, Tensor, camel_case
from .implementations import Implementation
from .model import Build
from .shapes import Any, Literal, Shape, Size, Slice
from .text import generated_from, indent, quote

_TEMPLATE = """\
// {generated}
#include "infini/ops/base/{operator}.h"

#include <span>
#include <utility>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/operator.h"
{includes}
namespace infini::ops {{
namespace {{

using internal::NamedView;

using Entry = internal::Entry<{types}>;

{tables}
std::span<const Entry> Entries(Device::Type type) {{
  switch (type) {{
{cases}
    default:
      return {{}};
  }}
}}

/// Checks everything but devices and outputs, and works out the outputs' shapes.
void CheckInputs({checked}{shape_outputs}) {{
{input_checks}
}}

void CheckOverlaps({tensor_parameters}) {{
{overlaps}
}}

void Check({call_const}) {{
{devices}
{shape_locals}
  CheckInputs({input_arguments}{shape_arguments});
{output_checks}
  CheckOverlaps({tensor_arguments});
}}

/// Queues the work of a checked call: guard, stream, launch.
void Start(const Context& context, const Entry& entry, {start_parameters}) {{
  const internal::CallGuard guard(context.device);
  Context bound = context;
  bound.stream = internal::CheckStream({name}::kOperator, context);
  if (internal::Tracing()) {{
    internal::Trace({name}::kOperator, bound, entry.info, {{{trace}}});
  }}
  entry.call(bound, {arguments});
}}

}}  // namespace

void {name}::Call({call}) {{
  Check(context, {arguments});
  const Entry& entry =
      internal::Choose(kOperator, context, Entries(context.device.type()), {arguments});
  Start(context, entry, {arguments});
}}

std::vector<TensorSpec> {name}::Infer({inputs}) {{
{shape_locals}
  CheckInputs({input_arguments}{shape_arguments});
  return {{{specs}}};
}}

std::vector<ImplementationReport> {name}::Explain({call_const}) {{
  Check(context, {arguments});
  return internal::Explain(kOperator, context, Entries(context.device.type()), {arguments});
}}

{name} {name}::Make({call}) {{
  Check(context, {arguments});
  {name} made;
  made.device_ = context.device;
  made.entry_ =
      &internal::Choose(kOperator, context, Entries(context.device.type()), {arguments});
{keep}
  return made;
}}

void {name}::operator()(const Context& context) const {{
  internal::CheckMadeFor(kOperator, device_, context);
  Start(context, *static_cast<const Entry*>(entry_), {members});
}}

void {name}::operator()(const Context& context, {tensors}) const {{
  internal::CheckMadeFor(kOperator, device_, context);
{made_like}
  CheckOverlaps({tensor_arguments});
  Start(context, *static_cast<const Entry*>(entry_), {mixed});
}}

namespace internal {{

/// For the registry.
std::vector<ImplementationInfo> {name}Implementations(Device::Type type) {{
  return Infos(Entries(type));
}}

}}  // namespace internal
}}  // namespace infini::ops
"""


def cpp_source(operator: Operator, build: Build) -> str:
    """The whole source file."""
    name = operator.class_name
    tensors = operator.tensors
    inputs = given_arguments(operator)
    tables, cases = _tables(operator, build)
    includes = sorted({item.include for item in _own(operator, build)})
    return _TEMPLATE.format(
        generated=generated_from(operator.path),
        operator=operator.name,
        name=name,
        includes="".join(f"#include {quote(include)}\n" for include in includes),
        types=_types(operator),
        tables=tables,
        cases=indent(cases, 4),
        inputs=input_parameters(operator),
        checked=_checked_parameters(operator),
        shape_outputs="".join(f", internal::Sizes* {out.name}_shape" for out in operator.outputs),
        input_checks=indent(_input_checks(operator), 2),
        tensor_parameters=", ".join(parameter(t, operator.outputs, False) for t in tensors),
        overlaps=indent(_overlaps(operator), 2),
        call_const=call_parameters(operator, by_value=False),
        devices=indent("\n".join(_device(name, tensor) for tensor in tensors), 2),
        shape_locals="\n".join(f"  internal::Sizes {out.name}_shape;" for out in operator.outputs),
        input_arguments=", ".join(argument.name for argument in inputs),
        shape_arguments="".join(f", &{out.name}_shape" for out in operator.outputs),
        output_checks=indent(_output_checks(operator), 2),
        tensor_arguments=", ".join(tensor.name for tensor in tensors),
        start_parameters=call_parameters(operator, by_value=False, context=False),
        trace=", ".join(_traced(tensor) for tensor in tensors),
        arguments=call_arguments(operator),
        call=call_parameters(operator),
        specs=", ".join(
            f"{{{out.name}_shape.vector(), {_dtype(out)}}}" for out in operator.outputs
        ),
        keep="\n".join(
            f"  made.{argument.name}_ = {_moved(argument, operator)};"
            for argument in arguments_of(operator)
        ),
        members=", ".join(f"{argument.name}_" for argument in arguments_of(operator)),
        tensors=", ".join(parameter(t, operator.outputs, True) for t in tensors),
        made_like="\n".join(
            f"  internal::CheckMadeLike(kOperator, {quote(t.name)}, {t.name}_, {t.name});"
            for t in tensors
        ),
        mixed=", ".join(
            f"{argument.name}_" if isinstance(argument, Attribute) else argument.name
            for argument in arguments_of(operator)
        ),
    )


def _checked_parameters(operator: Operator) -> str:
    """The parameters of `CheckInputs`, which has nothing to check about some attributes."""
    return ", ".join(
        ("[[maybe_unused]] " if isinstance(argument, Attribute) else "")
        + parameter(argument, operator.outputs, True)
        for argument in given_arguments(operator)
    )


def _own(operator: Operator, build: Build) -> list[Implementation]:
    return [item for item in build.implementations if item.operator == operator.name]


def _tables(operator: Operator, build: Build) -> tuple[str, str]:
    """The constant tables, one per device family, and the cases that pick one."""
    tables: list[str] = []
    cases: list[str] = []
    for device in build.devices:
        entries = build.implementations_of(operator, device)
        if not entries:
            continue
        family = entries[0].device
        constant = f"k{camel_case(family)}Entries"
        if device == family:
            rows = "".join(
                f"    internal::MakeEntry<Operator<{operator.class_name}, "
                f"Device::Type::k{camel_case(family)}, {item.slot}>, {_types(operator)}>"
                f"({item.slot}),\n"
                for item in entries
            )
            tables.append(f"constexpr Entry {constant}[] = {{\n{rows}}};\n")
        cases.append(f"case Device::Type::k{camel_case(device)}:\n  return {constant};")
    return "\n".join(tables), "\n".join(cases)


def _types(operator: Operator) -> str:
    return ", ".join(
        parameter(argument, operator.outputs, False).rsplit(" ", 1)[0]
        for argument in arguments_of(operator)
    )


def _traced(tensor: Tensor) -> str:
    pointer = f"{tensor.name} ? &*{tensor.name} : nullptr" if tensor.optional else f"&{tensor.name}"
    return f"{{{quote(tensor.name)}, {pointer}}}"


def _view(tensor: Tensor) -> str:
    pointer = f"&*{tensor.name}" if tensor.optional else f"&{tensor.name}"
    return f"NamedView{{{quote(tensor.name)}, {pointer}}}"


def _if_given(argument: Tensor | Attribute, statement: str) -> str:
    if not argument.optional:
        return statement
    return f"if ({argument.name}) {{\n{indent(statement, 2)}\n}}"


def _device(name: str, tensor: Tensor) -> str:
    check = f"internal::CheckDevice({name}::kOperator, context, {_view(tensor)});"
    return _if_given(tensor, check)


def _input_checks(operator: Operator) -> str:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    name = operator.class_name
    lines: list[str] = []
    for tensor in operator.inputs:
        own: list[str] = []
        if tensor.like is None:
            bits = " | ".join(
                f"internal::DtypeBit(DataType::{DTYPE_CONSTANTS[dtype]})" for dtype in tensor.dtypes
            )
            own.append(f"constexpr internal::DtypeSet kDtypes = {bits};")
            own.append(f"internal::CheckDtype({name}::kOperator, {_view(tensor)}, kDtypes);")
        else:
            like = _view(by_name[tensor.like])
            own.append(f"internal::CheckDtypeLike({name}::kOperator, {_view(tensor)}, {like});")
        if tensor.shape is None:
            if tensor.least_rank > 0 or tensor.greatest_rank is not None:
                greatest = -1 if tensor.greatest_rank is None else tensor.greatest_rank
                own.append(
                    f"internal::CheckRank({name}::kOperator, {_view(tensor)}, "
                    f"{tensor.least_rank}, {greatest});"
                )
        else:
            own.append("internal::Sizes expected;")
            own.append(_append(tensor.shape, "expected", operator))
            own.append(
                f"internal::CheckShape({name}::kOperator, {_view(tensor)}, expected, "
                f"{quote(tensor.shape.text)});"
            )
        if tensor.optional:
            lines.append(_if_given(tensor, "\n".join(own)))
        else:
            lines.append("{\n" + indent("\n".join(own), 2) + "\n}")
    for attribute in operator.attributes:
        value = f"*{attribute.name}" if attribute.optional else attribute.name
        checks: list[str] = []
        if attribute.like is not None:
            checks.append(
                f"internal::CheckScalar({name}::kOperator, {quote(attribute.name)}, "
                f"{value}, {_view(by_name[attribute.like])});"
            )
        if attribute.minimum is not None:
            checks.append(
                f"internal::CheckLeast({name}::kOperator, {quote(attribute.name)}, "
                f"static_cast<double>({value}), {float(attribute.minimum)!r});"
            )
        lines += [_if_given(attribute, check) for check in checks]
    for out in operator.outputs:
        assert out.shape is not None
        lines.append(_append(out.shape, f"(*{out.name}_shape)", operator))
    return "\n".join(lines)


def _append(shape: Shape, target: str, operator: Operator) -> str:
    """Statements that append the sizes of `shape` to `target`."""
    if shape.broadcast:
        by_name = {tensor.name: tensor for tensor in operator.inputs}
        views = ", ".join(_view(by_name[name]) for name in shape.broadcast)
        operator_name = f"{operator.class_name}::kOperator"
        return f"internal::AppendBroadcast({operator_name}, {{{views}}}, &{target});"
    lines: list[str] = []
    for item in shape.items:
        match item:
            case Literal(size):
                lines.append(f"{target}.Append({size});")
            case Any():
                lines.append(f"{target}.Append(-1);")
            case Size(tensor, index):
                lines.append(f"{target}.Append({tensor}.size({index}));")
            case Slice(tensor, begin, end):
                last = "INT64_MAX" if end is None else str(end)
                lines.append(f"{target}.AppendSlice({tensor}.shape(), {begin or 0}, {last});")
    return "\n".join(lines)


def _output_checks(operator: Operator) -> str:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    name = operator.class_name
    lines: list[str] = []
    for out in operator.outputs:
        assert out.shape is not None
        if out.like is None:
            bit = f"internal::DtypeBit(DataType::{DTYPE_CONSTANTS[out.dtypes[0]]})"
            lines.append(f"internal::CheckDtype({name}::kOperator, {_view(out)}, {bit});")
        else:
            like = _view(by_name[out.like])
            lines.append(f"internal::CheckDtypeLike({name}::kOperator, {_view(out)}, {like});")
        lines.append(
            f"internal::CheckShape({name}::kOperator, {_view(out)}, {out.name}_shape, "
            f"{quote(out.shape.text)});"
        )
    return "\n".join(lines)


def _overlaps(operator: Operator) -> str:
    name = operator.class_name
    lines: list[str] = []
    for place, written in enumerate(operator.inputs):
        if not written.written:
            continue
        lines.append(f"internal::CheckOutput({name}::kOperator, {_view(written)});")
        for index, tensor in enumerate(operator.inputs):
            if index != place and not (tensor.written and index < place):
                check = (
                    f"internal::CheckOverlap({name}::kOperator, {_view(written)}, "
                    f"{_view(tensor)}, false);"
                )
                lines.append(_if_given(tensor, check))
    for position, out in enumerate(operator.outputs):
        lines.append(f"internal::CheckOutput({name}::kOperator, {_view(out)});")
        for tensor in operator.inputs:
            same = "true" if tensor.name in out.may_alias else "false"
            check = (
                f"internal::CheckOverlap({name}::kOperator, {_view(out)}, {_view(tensor)}, {same});"
            )
            lines.append(_if_given(tensor, check))
        for other in operator.outputs[:position]:
            lines.append(
                f"internal::CheckOverlap({name}::kOperator, {_view(out)}, {_view(other)}, false);"
            )
    return "\n".join(lines)


def _moved(argument: Tensor | Attribute, operator: Operator) -> str:
    return f"std::move({argument.name})" if argument in operator.outputs else argument.name


def _dtype(out: Tensor) -> str:
    if out.like is not None:
        return f"{out.like}.dtype()"
    return f"DataType::{DTYPE_CONSTANTS[out.dtypes[0]]}"
