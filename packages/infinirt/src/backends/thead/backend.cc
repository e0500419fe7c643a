#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/thead/sdk.h"

namespace infini::rt {

extern const Backend kTheadBackend;
constexpr Backend kTheadBackend = cuda_like::CudaLikeBackend<TheadSdk>::Make();

}  // namespace infini::rt
