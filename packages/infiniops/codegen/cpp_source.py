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
from .shapes import (
    Any,
    Concat,
    Item,
    Literal,
    Product,
    Reduce,
    Replace,
    Shape,
    Size,
    Slice,
    Value,
)
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

// Several operators are compiled as one source, so every name carries the operator's.
using {name}Entry = internal::Entry<{types}>;

{tables}
std::span<const {name}Entry> {name}Entries(Device::Type type) {{
  switch (type) {{
{cases}
    default:
      return {{}};
  }}
}}

/// Checks everything but devices and outputs, and works out the outputs' shapes.
void {name}CheckInputs({checked}{shape_outputs}) {{
{input_checks}
}}

void {name}CheckOverlaps({tensor_parameters}) {{
{overlaps}
}}

void {name}Check({call_const}) {{
{devices}
{shape_locals}
  {name}CheckInputs({input_arguments}{shape_arguments});
{output_checks}
  {name}CheckOverlaps({tensor_arguments});
}}

/// Queues the work of a checked call: guard, stream, launch.
void {name}Start(const Context& context, const {name}Entry& entry, {start_parameters}) {{
  const internal::CallGuard guard(context.device);
  Context bound = context;
  bound.stream = internal::CheckStream({name}::kOperator, context);
  if (internal::Tracing()) {{
    internal::Trace({name}::kOperator, bound, entry.info, {trace});
  }}
  entry.call(bound, {arguments});
}}

}}  // namespace

void {name}::Call({call}) {{
  {name}Check(context, {arguments});
  const {name}Entry& entry =
      internal::Choose(kOperator, context, {name}Entries(context.device.type()), {arguments});
  {name}Start(context, entry, {arguments});
}}

std::vector<TensorSpec> {name}::Infer({inputs}) {{
{shape_locals}
  {name}CheckInputs({input_arguments}{shape_arguments});
  return {{{specs}}};
}}

std::vector<ImplementationReport> {name}::Explain({call_const}) {{
  {name}Check(context, {arguments});
  return internal::Explain(kOperator, context, {name}Entries(context.device.type()), {arguments});
}}

{name} {name}::Make({call}) {{
  {name}Check(context, {arguments});
  {name} made;
  made.device_ = context.device;
  made.entry_ =
      &internal::Choose(kOperator, context, {name}Entries(context.device.type()), {arguments});
{keep}
  return made;
}}

void {name}::operator()(const Context& context) const {{
  internal::CheckMadeFor(kOperator, device_, context);
  {name}Start(context, *static_cast<const {name}Entry*>(entry_), {members});
}}

void {name}::operator()(const Context& context, {tensors}) const {{
  internal::CheckMadeFor(kOperator, device_, context);
{made_like}
  {name}CheckOverlaps({tensor_arguments});
  {name}Start(context, *static_cast<const {name}Entry*>(entry_), {mixed});
}}

namespace internal {{

/// For the registry.
std::vector<ImplementationInfo> {name}Implementations(Device::Type type) {{
  return Infos({name}Entries(type));
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
    own = [item for item in build.implementations if item.operator == operator.name]
    # A linked implementation is in a library of its own: no header of it is needed here.
    includes = sorted({item.include for item in own if item.backend != "linked"})
    if any(item.backend == "linked" for item in own):
        includes.insert(0, "core/linked.h")
    return _TEMPLATE.format(
        generated=generated_from(operator.path),
        operator=operator.name,
        name=name,
        includes="".join(f"#include {quote(include)}\n" for include in includes),
        types=entry_types(operator),
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
        trace=_trace(operator),
        arguments=call_arguments(operator),
        call=call_parameters(operator),
        specs=", ".join(
            f"{{{out.name}_shape.vector(), {_dtype(out, operator)}}}" for out in operator.outputs
        ),
        keep="\n".join(f"  {_keep(argument, operator)}" for argument in arguments_of(operator)),
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


def _tables(operator: Operator, build: Build) -> tuple[str, str]:
    """The constant tables, one per device family, and the cases that pick one."""
    tables: list[str] = []
    cases: list[str] = []
    for device in build.devices:
        entries = build.implementations_of(operator, device)
        if not entries:
            continue
        family = entries[0].device
        constant = f"k{operator.class_name}{camel_case(family)}Entries"
        if device == family:
            rows = "".join(f"    {_row(item, operator)},\n" for item in entries)
            tables.append(f"constexpr {operator.class_name}Entry {constant}[] = {{\n{rows}}};\n")
        cases.append(f"case Device::Type::k{camel_case(device)}:\n  return {constant};")
    return "\n".join(tables), "\n".join(cases)


def _row(item: Implementation, operator: Operator) -> str:
    """One row of a table, as an expression."""
    name, types = operator.class_name, entry_types(operator)
    which = f"{name}, Device::Type::k{camel_case(item.device)}, {item.slot}"
    if item.backend == "linked":
        return f"internal::MakeLinkedEntry<{which}, {types}>({quote(item.name)})"
    return f"internal::MakeEntry<Operator<{which}>, {types}>({item.slot})"


def entry_types(operator: Operator) -> str:
    """The types of the arguments of an implementation, after its context."""
    return ", ".join(
        parameter(argument, operator.outputs, False).rsplit(" ", 1)[0]
        for argument in arguments_of(operator)
    )


def _trace(operator: Operator) -> str:
    """The tensors of a call with their names; those of a list all have its name."""
    if not any(tensor.is_list for tensor in operator.tensors):
        return f"{{{', '.join(_traced(tensor) for tensor in operator.tensors)}}}"
    lists = [tensor.name for tensor in operator.tensors if tensor.is_list]
    rest = [_traced(tensor) for tensor in operator.tensors if not tensor.is_list]
    return f"internal::NamedViews({{{', '.join(rest)}}}, {quote(lists[0])}, {lists[0]})"


def _traced(tensor: Tensor) -> str:
    pointer = f"{tensor.name} ? &*{tensor.name} : nullptr" if tensor.optional else f"&{tensor.name}"
    return f"{{{quote(tensor.name)}, {pointer}}}"


def _view(tensor: Tensor) -> str:
    """The view that a check is about: of a list the first, which its other tensors must match."""
    if tensor.is_list:
        return f"NamedView{{{quote(tensor.name)}, {tensor.name}.data()}}"
    pointer = f"&*{tensor.name}" if tensor.optional else f"&{tensor.name}"
    return f"NamedView{{{quote(tensor.name)}, {pointer}}}"


def _if_given(argument: Tensor | Attribute, statement: str) -> str:
    if not argument.optional:
        return statement
    return f"if ({argument.name}) {{\n{indent(statement, 2)}\n}}"


def _device(name: str, tensor: Tensor) -> str:
    if tensor.is_list:
        return f"internal::CheckDevices({name}::kOperator, context, {_list(tensor)});"
    check = f"internal::CheckDevice({name}::kOperator, context, {_view(tensor)});"
    return _if_given(tensor, check)


def _list(tensor: Tensor) -> str:
    return f"{quote(tensor.name)}, {tensor.name}"


def _dtype_set(dtypes: tuple[str, ...]) -> str:
    return " | ".join(f"internal::DtypeBit(DataType::{DTYPE_CONSTANTS[one]})" for one in dtypes)


def _attribute_checks(attribute: Attribute, operator: Operator) -> list[str]:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    where = f"{operator.class_name}::kOperator, {quote(attribute.name)}"
    value = f"*{attribute.name}" if attribute.optional else attribute.name
    lines: list[str] = []
    if attribute.like is not None:
        lines.append(f"internal::CheckScalar({where}, {value}, {_view(by_name[attribute.like])});")
    if attribute.minimum is not None:
        lines.append(
            f"internal::CheckLeast({where}, static_cast<double>({value}), "
            f"{float(attribute.minimum)!r});"
        )
    if attribute.of is not None:
        check = "CheckDim" if attribute.type == "dim" else "CheckDims"
        lines.append(f"internal::{check}({where}, {value}, {_view(by_name[attribute.of])});")
    if attribute.values:
        words = ", ".join(quote(word) for word in attribute.values)
        lines.append(f"internal::CheckWord({where}, {value}, {{{words}}});")
    if attribute.dtypes:
        lines.append(
            f"internal::CheckDtypeValue({where}, {value}, {_dtype_set(attribute.dtypes)});"
        )
    if attribute.optional and lines:
        return [f"if ({attribute.name}) {{\n{indent(chr(10).join(lines), 2)}\n}}"]
    return lines


def _input_checks(operator: Operator) -> str:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    name = operator.class_name
    lines: list[str] = []
    for tensor in operator.inputs:
        own: list[str] = []
        if tensor.is_list:
            own.append(f"internal::CheckList({name}::kOperator, {_list(tensor)});")
        if tensor.like is None:
            bits = _dtype_set(tensor.dtypes)
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
        lines += _attribute_checks(attribute, operator)
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
    where = f"{operator.class_name}::kOperator"
    match shape.function:
        case Reduce(tensor, dims, keepdim):
            return f"internal::AppendReduced({tensor}, {dims}, {keepdim}, &{target});"
        case Concat(tensors, dim):
            return (
                f"internal::AppendConcatenated({where}, {quote(tensors)}, {tensors}, {dim}, "
                f"&{target});"
            )
        case Replace(tensor, dim, item):
            return f"internal::AppendReplaced({tensor}, {dim}, {_size(item, operator)}, &{target});"
        case Product(left, right, addend):
            return _append_product(where, left, right, addend, target, operator)
    lines: list[str] = []
    for item in shape.items:
        if isinstance(item, Slice):
            last = "INT64_MAX" if item.end is None else str(item.end)
            lines.append(f"{target}.AppendSlice({item.tensor}.shape(), {item.begin or 0}, {last});")
        else:
            lines.append(f"{target}.Append({_size(item, operator)});")
    return "\n".join(lines)


def _append_product(
    where: str, left: str, right: str, addend: str | None, target: str, operator: Operator
) -> str:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    factors = f"{_view(by_name[left])}, {_view(by_name[right])}"
    if addend is None:
        view = "{}"
    elif by_name[addend].optional:
        view = f"{addend} ? {_view(by_name[addend])} : internal::NamedView{{}}"
    else:
        view = _view(by_name[addend])
    return f"internal::AppendProduct({where}, {factors}, {view}, &{target});"


def _size(item: Item, operator: Operator) -> str:
    """The size that an item stands for, as an expression."""
    match item:
        case Literal(size):
            return str(size)
        case Value(attribute):
            return attribute
        case Size(tensor, index, 1):
            return f"{tensor}.size({index})"
        case Size(tensor, index, divisor):
            by_name = {one.name: one for one in operator.inputs}
            return (
                f"internal::PartOf({operator.class_name}::kOperator, {_view(by_name[tensor])}, "
                f"{index}, {divisor})"
            )
        case Any():
            return "-1"
    raise AssertionError(item)


def _output_checks(operator: Operator) -> str:
    by_name = {tensor.name: tensor for tensor in operator.inputs}
    name = operator.class_name
    lines: list[str] = []
    for out in operator.outputs:
        assert out.shape is not None
        if out.like is None:
            bit = f"internal::DtypeBit({_dtype(out, operator)})"
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

    def output(tensor: Tensor) -> None:
        lines.append(
            f"[[maybe_unused]] const internal::Written {tensor.name}_written = "
            f"internal::CheckOutput({name}::kOperator, {_view(tensor)});"
        )

    def apart(written: Tensor, other: Tensor, same: bool) -> str:
        function, view = (
            ("CheckOverlaps", _list(other)) if other.is_list else ("CheckOverlap", _view(other))
        )
        may_be_same = "true" if same else "false"
        check = (
            f"internal::{function}({name}::kOperator, {written.name}_written, {view}, "
            f"{may_be_same});"
        )
        return _if_given(other, check)

    for place, written in enumerate(operator.inputs):
        if not written.written:
            continue
        output(written)
        for index, tensor in enumerate(operator.inputs):
            if index != place and not (tensor.written and index < place):
                lines.append(apart(written, tensor, False))
    for position, out in enumerate(operator.outputs):
        output(out)
        for tensor in operator.inputs:
            lines.append(apart(out, tensor, tensor.name in out.may_alias))
        for other in operator.outputs[:position]:
            lines.append(apart(out, other, False))
    return "\n".join(lines)


def _keep(argument: Tensor | Attribute, operator: Operator) -> str:
    """The statement by which `Make` keeps an argument."""
    name = argument.name
    if isinstance(argument, Attribute):
        whole = argument.type == "dims"
    else:
        whole = argument.is_list
    if whole:
        return f"made.{name}_.assign({name}.begin(), {name}.end());"
    return f"made.{name}_ = {f'std::move({name})' if argument in operator.outputs else name};"


def _dtype(out: Tensor, operator: Operator) -> str:
    """The element type of an output, as an expression over the arguments."""
    if out.dtype_of is not None:
        return out.dtype_of
    if out.sum_of is not None:
        return f"internal::SumDtype({out.sum_of}.dtype())"
    if out.like is not None:
        like = next(tensor for tensor in operator.inputs if tensor.name == out.like)
        return f"{out.like}.front().dtype()" if like.is_list else f"{out.like}.dtype()"
    return f"DataType::{DTYPE_CONSTANTS[out.dtypes[0]]}"
