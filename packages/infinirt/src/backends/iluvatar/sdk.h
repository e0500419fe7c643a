// The iluvatar backend: CoreX, a CUDA runtime by its names. Not verified on hardware.
#ifndef INFINI_RT_BACKENDS_ILUVATAR_SDK_H_
#define INFINI_RT_BACKENDS_ILUVATAR_SDK_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct IluvatarSdk {
  INFINI_RT_CUDA_LIKE_SDK(cuda)
  using DeviceProp = cudaDeviceProp;
  static constexpr Device::Type kType = Device::Type::kIluvatar;
  // The SDK follows CUDA 10.2, which has no memory pools.
  static constexpr std::uint32_t kLacks = CapabilityBits({Capability::kAsyncMalloc});
  static constexpr bool kKeepsRunningGraphs = false;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_ILUVATAR_SDK_H_
