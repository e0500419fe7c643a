// How a device of InfiniRT is one of PyTorch's, and how a provider's work reaches a stream.
//
// A provider's back end inherits the specialization of its device and adds its own `Call`s:
//
//     struct Vllm : C10Device<Device::Type::kCpu> {
//       static void Call(at::Tensor& out, ...) { ::rms_norm(out, ...); }
//     };
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_C10_DEVICE_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_C10_DEVICE_H_

#include <c10/core/Device.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>

#include "infini/ops/context.h"

namespace infini::ops::linked {

/// Identity of the devices of `type` for PyTorch, and the way onto their streams.
template <Device::Type type>
struct C10Device;

/// The CPU, and the sim device, which runs its implementations.
template <>
struct C10Device<Device::Type::kCpu> {
  /// What a tensor holds can be looked at where a task runs.
  static constexpr bool kHostReadsTensors = true;

  static c10::Device Identity() { return c10::Device(c10::kCPU); }

  /// Queues `function` with a copy of `task`: a provider's call is a host task like any kernel, so
  /// that it keeps its place on a stream and can be captured.
  static void Launch(const Context& context, rt::HostFunction function, const void* task,
                     std::size_t bytes) {
    rt::runtime::LaunchHost(context.stream, function, task, bytes);
  }
};

/// Queues `Task::Run<Backend>` on the context's stream. What the provider throws becomes an `Error`
/// of `Task::kOperator`.
template <class Backend, class Task>
void Launch(const Context& context, const Task& task) {
  static_assert(std::is_trivially_copyable_v<Task>);
  const rt::HostFunction function = [](const void* copy) {
    const auto fail = [](const std::string& what) {
      throw Error(ErrorCode::kDeviceFailure, Task::kOperator, "",
                  std::string(Backend::kProvider) + ": " + what);
    };
    try {
      const c10::InferenceMode no_autograd;
      static_cast<const Task*>(copy)->template Run<Backend>();
    } catch (const Error&) {
      throw;
    } catch (const c10::Error& error) {
      fail(error.what_without_backtrace());
    } catch (const std::exception& error) {
      fail(error.what());
    }
  };
  Backend::Launch(context, function, &task, sizeof(task));
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_C10_DEVICE_H_
