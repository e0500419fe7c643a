// Gradients of `aten::linear`.
//
// PyTorch composes `linear` of other operators and has no gradient of its own
// for it; a device with a kernel for it has to bring one.
#ifndef TORCH_INFINI_AUTOGRAD_LINEAR_H_
#define TORCH_INFINI_AUTOGRAD_LINEAR_H_

#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_infini::autograd {

/// `linear`, recorded where an argument requires a gradient. The gradients are
/// differentiable themselves.
at::Tensor Linear(const at::Tensor& input, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias);

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_LINEAR_H_
