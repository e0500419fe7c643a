// Operators that share storage or replace it.
#ifndef TORCH_INFINI_OPS_VIEW_H_
#define TORCH_INFINI_OPS_VIEW_H_

#include <torch/library.h>

namespace torch_infini {

/// Registers the views that PyTorch leaves to devices, `set_` and `resize_`.
/// All other views are composed of these by PyTorch.
void RegisterView(torch::Library& library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_VIEW_H_
