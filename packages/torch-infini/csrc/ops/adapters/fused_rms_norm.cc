#include "ops/adapters/fused_rms_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <infini/ops/base/rms_norm.h>

#include <limits>

#include "ops/adapters/normalization.h"

namespace torch_infini::adapters {

double DefaultEpsilon(c10::ScalarType type) {
  return type == c10::ScalarType::Double
             ? std::numeric_limits<double>::epsilon()
             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

at::Tensor ComposedRmsNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                           const std::optional<at::Tensor>& weight, std::optional<double> eps) {
  CheckNormalizedShape("rms_norm", input, normalized_shape);
  const at::Tensor wide = input.to(WideType(input.scalar_type()));
  at::Tensor result = wide * ReciprocalRoot(wide, LastDims(input, normalized_shape.size()),
                                            eps.value_or(DefaultEpsilon(input.scalar_type())));
  if (weight.has_value() && weight->defined()) result = result * weight->to(wide.scalar_type());
  return result.to(input.scalar_type());
}

at::Tensor RmsNorm(const OperatorInfo& info, const at::Tensor& input,
                   c10::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight,
                   std::optional<double> eps) {
  CheckNormalizedShape("rms_norm", input, normalized_shape);
  const auto dims = static_cast<std::int64_t>(normalized_shape.size());
  CheckPlace(info, "input", input, input.device());
  CheckType(info, input.scalar_type(), input.device());
  const bool weighted = weight.has_value() && weight->defined();
  if (weighted) {
    CheckPlace(info, "weight", *weight, input.device());
    TORCH_CHECK(weight->sizes() == normalized_shape, "rms_norm: expected weight of shape ",
                normalized_shape, ", got ", weight->sizes());
    TORCH_CHECK_NOT_IMPLEMENTED(weight->scalar_type() == input.scalar_type(), info.overload,
                                ": InfiniOps' `rms_norm` takes a weight of the input's type ",
                                TypeName(input.scalar_type()), ", got ",
                                TypeName(weight->scalar_type()));
  }

  // InfiniOps takes no number under the root that could make it imaginary; PyTorch does.
  if (eps.has_value() && *eps < 0) return ComposedRmsNorm(input, normalized_shape, weight, eps);
  // InfiniOps normalises one dimension; several become one.
  const auto flat = [&](const at::Tensor& tensor) {
    return dims == 1 ? tensor : tensor.contiguous().flatten(-dims, -1);
  };
  const at::Tensor rows = flat(input);
  const at::Tensor result = at::empty_like(rows, rows.options(), c10::MemoryFormat::Contiguous);
  std::optional<at::Tensor> row_weight;
  if (weighted) row_weight = flat(*weight);
  const Call call(input.device().index());
  WithTorchErrors([&] {
    infini::ops::RmsNorm::Call(call.context(), call.View(rows), call.View(row_weight),
                               eps.value_or(DefaultEpsilon(input.scalar_type())),
                               call.View(result));
  });
  return dims == 1 ? result : result.view(input.sizes());
}

std::tuple<at::Tensor, at::Tensor> FusedRmsNorm(const OperatorInfo& info, const at::Tensor& input,
                                                c10::IntArrayRef normalized_shape,
                                                const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps) {
  const at::Tensor result = RmsNorm(info, input, normalized_shape, weight, eps);
  return {result, ReciprocalRoot(input.to(WideType(input.scalar_type())),
                                 LastDims(input, normalized_shape.size()),
                                 eps.value_or(DefaultEpsilon(input.scalar_type())))};
}

}  // namespace torch_infini::adapters
