#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/moore/sdk.h"

namespace infini::rt {

extern const Backend kMooreBackend;
constexpr Backend kMooreBackend = cuda_like::CudaLikeBackend<MooreSdk>::Make();

}  // namespace infini::rt
