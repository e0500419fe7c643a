// Devices that PyTorch drives as CUDA ones: NVIDIA's, and those of vendors whose PyTorch keeps
// CUDA's names.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_C10_CUDA_DEVICE_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_C10_CUDA_DEVICE_H_

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "linked/torch/shared/c10_device.h"

namespace infini::ops::linked {

/// A call's device is current already, and the provider's work goes to the call's stream.
struct C10CudaDevice {
  /// What a tensor on such a device holds is not there for the host without waiting.
  static constexpr bool kHostReadsTensors = false;

  static c10::Device Identity() { return c10::Device(c10::kCUDA, c10::cuda::current_device()); }

  /// Runs `function` at once: it queues the provider's kernels, and is no host task itself.
  static void Launch(const Context& context, rt::HostFunction function, const void* task,
                     std::size_t) {
    auto* native = static_cast<cudaStream_t>(rt::runtime::StreamNativeHandle(context.stream));
    const c10::cuda::CUDAStreamGuard guard(
        c10::cuda::getStreamFromExternal(native, c10::cuda::current_device()));
    function(task);
  }
};

template <>
struct C10Device<Device::Type::kNvidia> : C10CudaDevice {};
template <>
struct C10Device<Device::Type::kMetax> : C10CudaDevice {};

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_C10_CUDA_DEVICE_H_
