// Mixed precision: `torch.autocast("infini")`.
#ifndef TORCH_INFINI_OPS_AUTOCAST_H_
#define TORCH_INFINI_OPS_AUTOCAST_H_

#include <torch/library.h>

namespace torch_infini {

/// Registers, for each operator of PyTorch's lists for CUDA, whether autocast
/// runs it in the low precision, in float32 or in the widest type of its
/// arguments. Every other operator runs in the types that it is given.
void RegisterAutocast(torch::Library& library, torch::Library& fallback);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_AUTOCAST_H_
