// Gradients of `aten::_fused_rms_norm`, which PyTorch composes where a device
// has no kernel for it.
#ifndef TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_
#define TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace torch_infini::autograd {

/// `_fused_rms_norm`, recorded where an argument requires a gradient. The
/// gradients are computed in float32 for float16 and bfloat16, and are
/// differentiable themselves. The second result is undefined.
std::tuple<at::Tensor, at::Tensor> FusedRmsNorm(const at::Tensor& input,
                                                c10::IntArrayRef normalized_shape,
                                                const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps);

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_FUSED_RMS_NORM_H_
