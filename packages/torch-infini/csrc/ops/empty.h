// Creation of infini tensors.
#ifndef TORCH_INFINI_OPS_EMPTY_H_
#define TORCH_INFINI_OPS_EMPTY_H_

#include <ATen/core/Tensor.h>
#include <c10/util/strides.h>
#include <torch/library.h>

namespace torch_infini {

/// An uninitialised tensor on `device`; its memory belongs to the calling
/// thread's current stream there. Throws for types that infini lacks.
at::Tensor EmptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType type,
                        c10::DeviceIndex device);

/// Registers `aten::empty.memory_format`, `aten::empty_strided` and
/// `aten::_efficientzerotensor`.
void RegisterEmpty(torch::Library& library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_EMPTY_H_
