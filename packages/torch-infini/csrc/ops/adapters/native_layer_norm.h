// `aten::layer_norm` and `aten::native_layer_norm`.
#ifndef TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_
#define TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <tuple>

#include "ops/call.h"

namespace torch_infini::adapters {

using LayerNormResult = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Normalises the last `normalized_shape.size()` dimensions of `input`.
at::Tensor LayerNorm(const OperatorInfo& info, const at::Tensor& input,
                     c10::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight,
                     const std::optional<at::Tensor>& bias, double eps, bool cudnn_enable);

/// The same, of operators that differentiate forward.
at::Tensor ComposedLayerNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                             const std::optional<at::Tensor>& weight,
                             const std::optional<at::Tensor>& bias, double eps);

/// `LayerNorm`, the mean, and the reciprocal deviation. InfiniOps' operator does not
/// give these, so they are composed.
LayerNormResult NativeLayerNorm(const OperatorInfo& info, const at::Tensor& input,
                                c10::IntArrayRef normalized_shape,
                                const std::optional<at::Tensor>& weight,
                                const std::optional<at::Tensor>& bias, double eps);

/// Mean and reciprocal deviation of `input` over its last `dims` dimensions.
std::tuple<at::Tensor, at::Tensor> LayerStatistics(const at::Tensor& input, std::size_t dims,
                                                   double eps);

}  // namespace torch_infini::adapters

#endif  // TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_
