// The metax backend: MACA. Not verified on hardware.
#ifndef INFINI_RT_BACKENDS_METAX_SDK_H_
#define INFINI_RT_BACKENDS_METAX_SDK_H_

#include <mcr/mc_runtime.h>

#include <cstdint>

#include "backends/cuda_like/sdk.h"
#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

struct MetaxSdk {
  INFINI_RT_CUDA_LIKE_SDK(mc)
  using DeviceProp = mcDeviceProp_t;
  static constexpr Device::Type kType = Device::Type::kMetax;
  static constexpr std::uint32_t kLacks = CapabilityBits({});
  static constexpr bool kKeepsRunningGraphs = false;
};

}  // namespace infini::rt

#endif  // INFINI_RT_BACKENDS_METAX_SDK_H_
