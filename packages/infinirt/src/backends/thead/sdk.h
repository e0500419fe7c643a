// The thead backend: the CUDA names of the PPU SDK. Not verified on hardware.
#ifndef INFINI_RT_BACKENDS_THEAD_SDK_H_
#define INFINI_RT_BACKENDS_THEAD_SDK_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct TheadSdk {
  INFINI_RT_CUDA_LIKE_SDK(cuda)
  using DeviceProp = cudaDeviceProp;
  static constexpr Device::Type kType = Device::Type::kThead;
  static constexpr std::uint32_t kLacks = CapabilityBits({});
  static constexpr bool kKeepsRunningGraphs = false;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_THEAD_SDK_H_
