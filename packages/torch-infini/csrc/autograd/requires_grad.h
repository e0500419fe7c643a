// What the gradients here share: whether a call has to be recorded, and lists of
// dimensions.
#ifndef TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_
#define TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_

#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace torch_infini::autograd {

/// Whether `tensor` takes part in forward differentiation. The gradients here
/// are for reverse differentiation; operators are composed of others for this.
inline bool IsDual(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->_fw_grad(/*level=*/0, tensor).defined();
}

inline bool IsDual(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && IsDual(*tensor);
}

/// Whether `tensor` takes part in reverse or forward differentiation.
inline bool IsDifferentiated(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  if (tensor.requires_grad() && c10::AutogradState::get_tls_state().get_grad_mode()) return true;
  return IsDual(tensor);
}

inline bool IsDifferentiated(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && IsDifferentiated(*tensor);
}

/// The dimensions from `begin` to `end`, without the last.
inline std::vector<std::int64_t> Range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(end - begin));
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_REQUIRES_GRAD_H_
