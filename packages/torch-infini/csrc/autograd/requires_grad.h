// Whether a call has to be recorded.
#ifndef TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_
#define TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_

#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>

#include <optional>

namespace torch_infini::autograd {

/// Whether `tensor` takes part in reverse or forward differentiation.
inline bool IsDifferentiated(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  if (tensor.requires_grad() && c10::AutogradState::get_tls_state().get_grad_mode()) return true;
  return tensor.unsafeGetTensorImpl()->_fw_grad(/*level=*/0, tensor).defined();
}

inline bool IsDifferentiated(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && IsDifferentiated(*tensor);
}

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_
