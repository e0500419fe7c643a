// What happens to an operator that infini does not have.
#ifndef TORCH_INFINI_OPS_FALLBACK_H_
#define TORCH_INFINI_OPS_FALLBACK_H_

#include <torch/library.h>

namespace torch_infini {

/// Registers, for every operator without a kernel, the error that names it.
void RegisterFallback(torch::Library& library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_FALLBACK_H_
