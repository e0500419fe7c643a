// The hygon backend: the CUDA names of DTK. Not verified on hardware.
#ifndef INFINI_RT_BACKENDS_HYGON_SDK_H_
#define INFINI_RT_BACKENDS_HYGON_SDK_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct HygonSdk {
  INFINI_RT_CUDA_LIKE_SDK(cuda)
  using DeviceProp = cudaDeviceProp;
  static constexpr Device::Type kType = Device::Type::kHygon;
  // The SDK stands on HIP, which declares interprocess events but does not support them.
  static constexpr std::uint32_t kLacks = CapabilityBits({Capability::kIpcEvent});
  static constexpr bool kKeepsRunningGraphs = false;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_HYGON_SDK_H_
