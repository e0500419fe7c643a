#include "ops/adapters/native_layer_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <c10/util/Exception.h>
#include <infini/ops/base/layer_norm.h>

#include <vector>

#include "ops/adapters/normalization.h"

namespace torch_infini::adapters {

at::Tensor ComposedLayerNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                             const std::optional<at::Tensor>& weight,
                             const std::optional<at::Tensor>& bias, double eps) {
  CheckNormalizedShape("layer_norm", input, normalized_shape);
  const c10::ScalarType type = WideType(input.scalar_type());
  const std::vector<std::int64_t> last = LastDims(input, normalized_shape.size());
  const at::Tensor wide = input.to(type);
  const at::Tensor centred = wide - wide.mean(last, /*keepdim=*/true);
  at::Tensor result = centred * ReciprocalRoot(centred, last, eps);
  if (weight.has_value() && weight->defined()) result = result * weight->to(type);
  if (bias.has_value() && bias->defined()) result = result + bias->to(type);
  return result.to(input.scalar_type());
}

at::Tensor LayerNorm(const OperatorInfo& info, const at::Tensor& input,
                     c10::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight,
                     const std::optional<at::Tensor>& bias, double eps, bool /*cudnn_enable*/) {
  CheckNormalizedShape("layer_norm", input, normalized_shape);
  const auto dims = static_cast<std::int64_t>(normalized_shape.size());
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
  // InfiniOps takes no number under the root that could make it imaginary; PyTorch does.
  if (eps < 0) return ComposedLayerNorm(input, normalized_shape, weight, bias, eps);
  const at::Tensor rows = flat(input);
  const at::Tensor result = at::empty_like(rows, rows.options(), c10::MemoryFormat::Contiguous);
  const Call call(input.device().index());
  WithTorchErrors([&] {
    infini::ops::LayerNorm::Call(call.context(), call.View(rows), call.View(row_weight),
                                 call.View(row_bias), eps, call.View(result));
  });
  return dims == 1 ? result : result.view(input.sizes());
}

LayerNormResult NativeLayerNorm(const OperatorInfo& info, const at::Tensor& input,
                                c10::IntArrayRef normalized_shape,
                                const std::optional<at::Tensor>& weight,
                                const std::optional<at::Tensor>& bias, double eps) {
  const at::Tensor result =
      LayerNorm(info, input, normalized_shape, weight, bias, eps, /*cudnn_enable=*/false);
  const auto [mean, scale] = LayerStatistics(input, normalized_shape.size(), eps);
  return {result, mean, scale};
}

std::tuple<at::Tensor, at::Tensor> LayerStatistics(const at::Tensor& input, std::size_t dims,
                                                   double eps) {
  const c10::ScalarType type = input.scalar_type();
  const at::Tensor wide = input.to(WideType(type));
  const std::vector<std::int64_t> last = LastDims(input, dims);
  const at::Tensor mean = wide.mean(last, /*keepdim=*/true);
  return {mean.to(type), ReciprocalRoot(wide - mean, last, eps).to(type)};
}

}  // namespace torch_infini::adapters
