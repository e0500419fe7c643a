#include "ops/fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <sstream>

#include "ops/tensor_view.h"
#include "runtime/device.h"

namespace torch_infini {
namespace {

/// Describes the tensors among the arguments: "float32 on infini:0".
void Describe(const c10::IValue& value, std::ostringstream& text) {
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (text.tellp() > 0) text << ", ";
    text << TypeName(tensor.scalar_type()) << " on " << tensor.device();
  };
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) add(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) Describe(item, text);
  }
}

void Unsupported(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  std::ostringstream tensors;
  for (const c10::IValue& argument : torch::jit::last(*stack, schema.arguments().size())) {
    Describe(argument, tensors);
  }
  const std::string overload = schema.overload_name().empty() ? "" : "." + schema.overload_name();
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, schema.name(), overload, " is not implemented on infini (got ",
      tensors.tellp() > 0 ? tensors.str() : "no tensor",
      "): the InfiniOps that torch-infini was built with has no operator for "
      "it. Move the tensors with .cpu() to compute on the CPU");
}

}  // namespace

void RegisterFallback(torch::Library& library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&Unsupported>());
}

}  // namespace torch_infini
