// What the normalising operators share: their checks, and the statistics that
// InfiniOps' operators do not give.
#ifndef TORCH_INFINI_OPS_ADAPTERS_NORMALIZATION_H_
#define TORCH_INFINI_OPS_ADAPTERS_NORMALIZATION_H_

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <vector>

namespace torch_infini::adapters {

/// Throws unless `normalized_shape` names the last sizes of `input`.
void CheckNormalizedShape(const char* name, const at::Tensor& input,
                          c10::IntArrayRef normalized_shape);

/// The type in which statistics of `type` are computed.
c10::ScalarType WideType(c10::ScalarType type);

/// The last `count` dimensions of `tensor`.
std::vector<std::int64_t> LastDims(const at::Tensor& tensor, std::size_t count);

/// The reciprocal root of the mean square over `dims` and `eps`; `dims` stay, with size 1.
at::Tensor ReciprocalRoot(const at::Tensor& wide, c10::IntArrayRef dims, double eps);

}  // namespace torch_infini::adapters

#endif  // TORCH_INFINI_OPS_ADAPTERS_NORMALIZATION_H_
