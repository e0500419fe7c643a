// Translates errors of InfiniRT and InfiniOps into the exceptions of PyTorch.
#ifndef TORCH_INFINI_RUNTIME_ERROR_H_
#define TORCH_INFINI_RUNTIME_ERROR_H_

#include <infini/rt/error.h>

#include <utility>

namespace torch_infini {

/// Throws the PyTorch exception that InfiniRT's error table names for `error`.
[[noreturn]] void ThrowAsTorchError(const infini::rt::Error& error);

/// Calls `function` and returns its result; an `infini::rt::Error` leaves as
/// the PyTorch exception of its code.
template <typename Function>
decltype(auto) WithTorchErrors(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const infini::rt::Error& error) {
    ThrowAsTorchError(error);
  }
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_ERROR_H_
