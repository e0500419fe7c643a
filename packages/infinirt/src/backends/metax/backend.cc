#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/metax/sdk.h"

namespace infini::rt {

extern const Backend kMetaxBackend;
constexpr Backend kMetaxBackend = cuda_like::CudaLikeBackend<MetaxSdk>::Make();

}  // namespace infini::rt
