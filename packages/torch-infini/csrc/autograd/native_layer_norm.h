// Gradients of `aten::layer_norm`, which PyTorch composes of
// `aten::native_layer_norm`, and of that one without the mean and the deviation
// that PyTorch's formula reads: InfiniOps' operator does not give them.
#ifndef TORCH_INFINI_AUTOGRAD_NATIVE_LAYER_NORM_H_
#define TORCH_INFINI_AUTOGRAD_NATIVE_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace torch_infini::autograd {

/// `layer_norm`, recorded where an argument requires a gradient. The gradients
/// are computed in float32 for float16 and bfloat16, and are differentiable
/// themselves.
at::Tensor LayerNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                     const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                     double eps, bool cudnn_enable);

/// The same, the mean and the reciprocal deviation, which are not recorded.
std::tuple<at::Tensor, at::Tensor, at::Tensor> NativeLayerNorm(
    const at::Tensor& input, c10::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, double eps);

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_NATIVE_LAYER_NORM_H_
