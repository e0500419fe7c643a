#include "ops/adapters/normalization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <numeric>

namespace torch_infini::adapters {

void CheckNormalizedShape(const char* name, const at::Tensor& input,
                          c10::IntArrayRef normalized_shape) {
  const auto dims = static_cast<std::int64_t>(normalized_shape.size());
  TORCH_CHECK(dims >= 1, name, ": expected normalized_shape to have at least one dimension, got ",
              normalized_shape);
  TORCH_CHECK(input.dim() >= dims && input.sizes().slice(static_cast<std::size_t>(
                                         input.dim() - dims)) == normalized_shape,
              name, ": expected the input's last sizes to be ", normalized_shape,
              ", got an input of shape ", input.sizes());
}

c10::ScalarType WideType(c10::ScalarType type) {
  return c10::isReducedFloatingType(type) ? c10::ScalarType::Float : type;
}

std::vector<std::int64_t> LastDims(const at::Tensor& tensor, std::size_t count) {
  std::vector<std::int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), tensor.dim() - static_cast<std::int64_t>(count));
  return dims;
}

at::Tensor ReciprocalRoot(const at::Tensor& wide, c10::IntArrayRef dims, double eps) {
  return (wide * wide).mean(dims, /*keepdim=*/true).add(eps).rsqrt();
}

}  // namespace torch_infini::adapters
