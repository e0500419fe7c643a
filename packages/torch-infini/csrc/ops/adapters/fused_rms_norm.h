// `aten::rms_norm` and `aten::_fused_rms_norm`.
#ifndef TORCH_INFINI_OPS_ADAPTERS_FUSED_RMS_NORM_H_
#define TORCH_INFINI_OPS_ADAPTERS_FUSED_RMS_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "ops/call.h"

namespace torch_infini::adapters {

/// What is added under the root where the caller gives nothing: the machine
/// epsilon of the type in which PyTorch accumulates.
double DefaultEpsilon(c10::ScalarType type);

/// Normalises the last `normalized_shape.size()` dimensions of `input`. Without
/// `eps`, `DefaultEpsilon`.
at::Tensor RmsNorm(const OperatorInfo& info, const at::Tensor& input,
                   c10::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight,
                   std::optional<double> eps);

/// The same, of operators that differentiate forward.
at::Tensor ComposedRmsNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                           const std::optional<at::Tensor>& weight, std::optional<double> eps);

/// `RmsNorm`, and the reciprocal root mean square, in float32 for float16 and
/// bfloat16. InfiniOps' operator does not give that, so it is composed.
std::tuple<at::Tensor, at::Tensor> FusedRmsNorm(const OperatorInfo& info, const at::Tensor& input,
                                                c10::IntArrayRef normalized_shape,
                                                const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps);

}  // namespace torch_infini::adapters

#endif  // TORCH_INFINI_OPS_ADAPTERS_FUSED_RMS_NORM_H_
