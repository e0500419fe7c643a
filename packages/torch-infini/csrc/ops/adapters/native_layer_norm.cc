#include "ops/adapters/native_layer_norm.h"

#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <infini/ops/base/layer_norm.h>

namespace torch_infini::adapters {

LayerNormResult NativeLayerNorm(const OperatorInfo& info, const at::Tensor& input,
                                c10::IntArrayRef normalized_shape,
                                const std::optional<at::Tensor>& weight,
                                const std::optional<at::Tensor>& bias, double eps) {
  const auto dims = static_cast<std::int64_t>(normalized_shape.size());
  TORCH_CHECK(dims >= 1,
              "layer_norm: expected normalized_shape to have at least one dimension, got ",
              normalized_shape);
  TORCH_CHECK(input.dim() >= dims && input.sizes().slice(static_cast<std::size_t>(
                                         input.dim() - dims)) == normalized_shape,
              "layer_norm: expected the input's last sizes to be ", normalized_shape,
              ", got an input of shape ", input.sizes());
  CheckPlace(info, "input", input, input.device());
  CheckType(info, input.scalar_type(), input.device());
  // InfiniOps normalises one dimension; several become one.
  const auto flat = [&](const at::Tensor& tensor) {
    return dims == 1 ? tensor : tensor.contiguous().flatten(-dims, -1);
  };
  const auto operand = [&](const char* name, const std::optional<at::Tensor>& tensor) {
    std::optional<at::Tensor> result;
    if (!tensor.has_value() || !tensor->defined()) return result;
    CheckPlace(info, name, *tensor, input.device());
    CheckSameType(info, name, *tensor, "input", input);
    TORCH_CHECK(tensor->sizes() == normalized_shape, "layer_norm: expected ", name, " of shape ",
                normalized_shape, ", got ", tensor->sizes());
    result = flat(*tensor);
    return result;
  };
  const std::optional<at::Tensor> row_weight = operand("weight", weight);
  const std::optional<at::Tensor> row_bias = operand("bias", bias);
  const at::Tensor rows = flat(input);
  const at::Tensor result = at::empty_like(rows, rows.options(), c10::MemoryFormat::Contiguous);
  const Call call(input.device().index());
  WithTorchErrors([&] {
    infini::ops::LayerNorm::Call(call.context(), call.View(rows), call.View(row_weight),
                                 call.View(row_bias), eps, call.View(result));
  });
  return {dims == 1 ? result : result.view(input.sizes()), at::Tensor(), at::Tensor()};
}

}  // namespace torch_infini::adapters
