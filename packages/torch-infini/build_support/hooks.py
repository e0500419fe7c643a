"""Writes the functions by which copies and fills stay on the device where InfiniOps can do them."""

from __future__ import annotations

from build_support.declarations import Declarations, Operator

_DECLARATIONS = {
    "fill": (
        "bool FillOnDevice([[maybe_unused]] const at::Tensor& target,\n"
        "                  [[maybe_unused]] const at::Scalar& value)"
    ),
    "copy": (
        "bool CopyOnDevice([[maybe_unused]] const at::Tensor& source,\n"
        "                  [[maybe_unused]] const at::Tensor& target)"
    ),
    "cast": (
        "bool CastOnDevice([[maybe_unused]] const at::Tensor& source,\n"
        "                  [[maybe_unused]] const at::Tensor& target)"
    ),
}
_CALLS = {
    "fill": "Fill::Call(call.context(), call.View(target), ToScalar(value), call.View(target))",
    "copy": "Copy::Call(call.context(), call.View(source), call.View(target))",
    "cast": (
        "Cast::Call(call.context(), call.View(source), *ToDataType(target.scalar_type()),\n"
        "                            call.View(target))"
    ),
}


def includes(declarations: Declarations) -> list[str]:
    """The headers that the functions need."""
    return ['"ops/call.h"', *(f"<{item.header}>" for item in _present(declarations).values())]


def functions(declarations: Declarations) -> list[str]:
    """Lines of C++; a function whose operator is not there returns false."""
    present = _present(declarations)
    lines: list[str] = []
    for name, declaration in _DECLARATIONS.items():
        lines += [f"{declaration} {{", *_body(name, present.get(name)), "}", ""]
    return lines


def _present(declarations: Declarations) -> dict[str, Operator]:
    return {item.name: item for item in declarations.operators if item.name in _DECLARATIONS}


def _body(name: str, operator: Operator | None) -> list[str]:
    if operator is None:
        return ["  return false;"]
    # In the order of the operator's mask of types.
    kinds = ", ".join(f'"{dtype}"' for dtype in operator.dtypes)
    tensors = ["target"] if name == "fill" else ["source", "target"]
    return [
        f"  static constexpr const char* kTypes[] = {{{kinds}}};",
        *(f"  if (!IsOneOf(kTypes, {tensor}.scalar_type())) return false;" for tensor in tensors),
        "  const Call call(target.device().index());",
        f"  WithTorchErrors([&] {{ infini::ops::{_CALLS[name]}; }});",
        "  return true;",
    ]
