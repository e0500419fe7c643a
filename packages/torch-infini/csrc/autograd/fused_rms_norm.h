// Gradients of `aten::rms_norm` and `aten::_fused_rms_norm`, which PyTorch
// composes where a device has no kernel for them.
#ifndef TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_
#define TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace torch_infini::autograd {

/// `rms_norm`, recorded where an argument requires a gradient. The gradients are
/// computed in float32 for float16 and bfloat16, and are differentiable
/// themselves.
at::Tensor RmsNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                   const std::optional<at::Tensor>& weight, std::optional<double> eps);

/// The same, and the reciprocal root mean square, which is not recorded.
std::tuple<at::Tensor, at::Tensor> FusedRmsNorm(const at::Tensor& input,
                                                c10::IntArrayRef normalized_shape,
                                                const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps);

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_
