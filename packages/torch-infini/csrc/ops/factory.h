// Operators that make values from nothing but numbers: ranges and random numbers.
#ifndef TORCH_INFINI_OPS_FACTORY_H_
#define TORCH_INFINI_OPS_FACTORY_H_

#include <torch/library.h>

namespace torch_infini {

/// Registers them. They read no tensor: their values are made in host memory,
/// by PyTorch's own CPU code, and uploaded.
///
/// Random numbers come from the infini generator: each call takes one draw of
/// its Philox sequence, which seeds PyTorch's CPU generator for that call, and
/// moves its offset by 4. Values are the same on every backend.
void RegisterFactory(torch::Library& library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_FACTORY_H_
