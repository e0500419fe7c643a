"""Writes `base/<operator>.h`: the class that C++ callers use."""

from __future__ import annotations

from .cpp_types import (
    arguments_of,
    call_parameters,
    input_parameters,
    member_type,
    parameter,
)
from .declaration import Attribute, Operator, Tensor
from .docstring import dtype_text, rank_text
from .text import generated_from, wrap

_TEMPLATE = """\
// {generated}
#ifndef INFINI_OPS_BASE_{guard}_H_
#define INFINI_OPS_BASE_{guard}_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infini/ops/abi.h"
#include "infini/ops/context.h"
#include "infini/ops/implementation.h"
#include "infini/ops/scalar.h"

namespace infini::ops {{

{doc}
class {name} {{
 public:
  static constexpr char kOperator[] = "{operator}";

  /// Checks the arguments, then queues the work on the context's stream.
  ///
  /// Throws `Error` before any output is written: invalid argument for devices,
  /// shapes and overlaps, type mismatch for element types, not supported where
  /// no implementation serves the call.
  INFINI_OPS_ENTRY static void Call({call});

  /// Checks the inputs and returns shape and element type of each output.
  INFINI_OPS_ENTRY static std::vector<TensorSpec> Infer({infer});

  /// Says of each implementation whether `Call` would run it, and why.
  INFINI_OPS_ENTRY static std::vector<ImplementationReport> Explain({call_const});

  /// Checks the arguments as `Call` does and keeps them, with the chosen
  /// implementation, for any number of runs. The views are copied; the memory
  /// that they describe must outlive the last run.
  INFINI_OPS_ENTRY static {name} Make({call});

  /// Runs with the arguments of `Make` on the stream of `context`, whose device
  /// must be that of `Make`. Checks nothing else.
  INFINI_OPS_ENTRY void operator()(const Context& context) const;

  /// Runs with other memory: each view must have the shape, strides and element
  /// type of its namesake in `Make`. Throws `Error` when one has not, or when an
  /// output overlaps an input in another way than there.
  INFINI_OPS_ENTRY void operator()(const Context& context, {tensors}) const;

 private:
  {name}() = default;

  Device device_;
  const void* entry_ = nullptr;
{members}
}};

}}  // namespace infini::ops

#endif  // INFINI_OPS_BASE_{guard}_H_
"""


def cpp_header(operator: Operator) -> str:
    """The whole header."""
    return _TEMPLATE.format(
        generated=generated_from(operator.path),
        guard=operator.name.upper(),
        doc=_class_comment(operator),
        name=operator.class_name,
        operator=operator.name,
        call=call_parameters(operator),
        call_const=call_parameters(operator, by_value=False),
        infer=input_parameters(operator),
        tensors=", ".join(parameter(t, operator.outputs, True) for t in operator.tensors),
        members="\n".join(
            f"  {member_type(argument)} {argument.name}_{_initial(argument)};"
            for argument in arguments_of(operator)
        ),
    )


def _initial(argument: Tensor | Attribute) -> str:
    if isinstance(argument, Attribute) and not argument.optional:
        return {"scalar": "{false}", "bool": "{false}", "dtype": "{DataType::kFloat32}"}.get(
            argument.type, "{}"
        )
    return ""


def _class_comment(operator: Operator) -> str:
    paragraphs = [operator.summary]
    if operator.details:
        paragraphs.append(operator.details)
    for tensor in operator.tensors:
        role = "output" if tensor in operator.outputs else "input"
        optional = ", written" if tensor.written else ", optional" if tensor.optional else ""
        shape = tensor.shape.text if tensor.shape else rank_text(tensor)
        text = (
            f"`{tensor.name}` ({role}{optional}; {dtype_text(tensor)}; shape {shape}): {tensor.doc}"
        )
        if tensor.written:
            text += " Overlaps no other argument."
        if tensor in operator.outputs:
            text += (
                f" May be the same view as {' or '.join(f'`{name}`' for name in tensor.may_alias)}."
                if tensor.may_alias
                else " Overlaps no input."
            )
        paragraphs.append(text)
    paragraphs += [f"`{attribute.name}`: {attribute.doc}" for attribute in operator.attributes]
    paragraphs.append(
        f"Accumulates in {operator.accumulate}. Rounds {operator.rounds}. "
        f"Agrees with {operator.agrees_with}."
    )
    return "\n///\n".join(wrap(paragraph, "/// ") for paragraph in paragraphs)
