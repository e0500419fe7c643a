// Calls of exported TVM FFI entry points.
#ifndef INFINI_OPS_LINKED_TVM_FFI_SHARED_CALL_H_
#define INFINI_OPS_LINKED_TVM_FFI_SHARED_CALL_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "infini/ops/context.h"
#include "native/cpu/operand.h"

namespace infini::ops::linked {

using cpu::MakeOperand;
using cpu::Operand;

/// A DLTensor over the memory of an operand, which outlives it.
class DlView {
 public:
  explicit DlView(const Operand& operand, DLDevice device = {kDLCPU, 0}) : operand_(operand) {
    const rt::DlpackDataType dtype = rt::ToDlpack(operand_.dtype);
    tensor_.data = operand_.data;
    tensor_.device = device;
    tensor_.ndim = operand_.rank;
    tensor_.dtype = {dtype.code, dtype.bits, dtype.lanes};
    tensor_.shape = operand_.sizes;
    tensor_.strides = operand_.strides;
    tensor_.byte_offset = 0;
  }
  DlView(const DlView&) = delete;
  DlView& operator=(const DlView&) = delete;

  DLTensor* get() noexcept { return &tensor_; }

 private:
  Operand operand_;
  DLTensor tensor_{};
};

/// Calls the entry point that TVM_FFI_DLL_EXPORT_TYPED_FUNC exported as `entry`; what it returns is
/// dropped. Throws what the provider threw.
template <typename... Arguments>
void CallEntry(TVMFFISafeCallType entry, Arguments&&... arguments) {
  tvm::ffi::Function::InvokeExternC(nullptr, entry, std::forward<Arguments>(arguments)...);
}

/// Runs `function`; what the provider throws becomes an `Error` of `op` that names `provider`.
template <typename Function>
void ReportAs(const char* op, const char* provider, const Function& function) {
  try {
    function();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kDeviceFailure, op, "", std::string(provider) + ": " + error.what());
  }
}

/// Queues `Task::Run()` on the context's stream. What the provider throws becomes an `Error` of
/// `Task::kOperator`.
template <class Task>
void LaunchOnHost(const Context& context, const Task& task) {
  static_assert(std::is_trivially_copyable_v<Task>);
  const rt::HostFunction function = [](const void* copy) {
    ReportAs(Task::kOperator, Task::kProvider, [&] { static_cast<const Task*>(copy)->Run(); });
  };
  rt::runtime::LaunchHost(context.stream, function, &task, sizeof(task));
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TVM_FFI_SHARED_CALL_H_
