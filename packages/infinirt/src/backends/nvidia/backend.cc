#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/nvidia/sdk.h"

namespace infini::rt {

extern const Backend kNvidiaBackend;
constexpr Backend kNvidiaBackend = cuda_like::CudaLikeBackend<NvidiaSdk>::Make();

}  // namespace infini::rt
