// `aten::native_layer_norm`, which `torch.nn.functional.layer_norm` calls.
#ifndef TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_
#define TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "ops/call.h"

namespace torch_infini::adapters {

using LayerNormResult = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Normalises the last `normalized_shape.size()` dimensions of `input`. Mean and
/// reciprocal deviation, the other results, are undefined: InfiniOps' operator
/// does not give them, and `autograd::NativeLayerNorm` does without.
LayerNormResult NativeLayerNorm(const OperatorInfo& info, const at::Tensor& input,
                                c10::IntArrayRef normalized_shape,
                                const std::optional<at::Tensor>& weight,
                                const std::optional<at::Tensor>& bias, double eps);

}  // namespace torch_infini::adapters

#endif  // TORCH_INFINI_OPS_ADAPTERS_NATIVE_LAYER_NORM_H_
