#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/metax/sdk.h"

namespace infini::rt {

extern const Backend kMetaxBackend;
constinit const Backend kMetaxBackend = cuda_like::CudaLikeBackend<MetaxSdk>::Make();

}  // namespace infini::rt
