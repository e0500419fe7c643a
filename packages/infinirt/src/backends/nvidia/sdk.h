// The nvidia backend: the CUDA runtime.
#ifndef INFINI_RT_BACKENDS_NVIDIA_SDK_H_
#define INFINI_RT_BACKENDS_NVIDIA_SDK_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct NvidiaSdk {
  INFINI_RT_CUDA_LIKE_SDK(cuda)
  using DeviceProp = cudaDeviceProp;
  static constexpr Device::Type kType = Device::Type::kNvidia;
  static constexpr std::uint32_t kLacks = CapabilityBits({});
  static constexpr bool kKeepsRunningGraphs = true;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_NVIDIA_SDK_H_
