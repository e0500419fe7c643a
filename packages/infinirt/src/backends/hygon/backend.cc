#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/hygon/sdk.h"

namespace infini::rt {

extern const Backend kHygonBackend;
constexpr Backend kHygonBackend = cuda_like::CudaLikeBackend<HygonSdk>::Make();

}  // namespace infini::rt
