#include "core/backend.h"

#include "backends/cuda_like/backend.h"
#include "backends/iluvatar/sdk.h"

namespace infini::rt {

extern const Backend kIluvatarBackend;
constexpr Backend kIluvatarBackend = cuda_like::CudaLikeBackend<IluvatarSdk>::Make();

}  // namespace infini::rt
