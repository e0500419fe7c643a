// The moore backend: MUSA. Not verified on hardware.
#ifndef INFINI_RT_BACKENDS_MOORE_SDK_H_
#define INFINI_RT_BACKENDS_MOORE_SDK_H_

#include <musa_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct MooreSdk {
  INFINI_RT_CUDA_LIKE_SDK(musa)
  using DeviceProp = musaDeviceProp;
  static constexpr Device::Type kType = Device::Type::kMoore;
  static constexpr std::uint32_t kLacks = CapabilityBits({});
  static constexpr bool kKeepsRunningGraphs = false;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_MOORE_SDK_H_
