// Shape rules of operators.json, for the generated operator table.
#ifndef TORCH_INFINI_OPS_SHAPE_H_
#define TORCH_INFINI_OPS_SHAPE_H_

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/call.h"

namespace torch_infini {

using Shape = c10::SmallVector<std::int64_t, 8>;

/// The end of a slice that goes to the last dimension.
inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

/// Checks that `tensor` has at least `least` dimensions.
inline void CheckRank(const OperatorInfo& info, const char* argument, const at::Tensor& tensor,
                      std::int64_t least) {
  TORCH_CHECK(tensor.dim() >= least, info.overload, ": expected `", argument, "` to have at least ",
              least, " dimension", least == 1 ? "" : "s", ", got shape ", tensor.sizes());
}

/// Appends the sizes of dimensions `begin` to `end`, as in Python's slices.
inline void AppendSizes(Shape& shape, const at::Tensor& tensor, std::int64_t begin,
                        std::int64_t end) {
  const std::int64_t rank = tensor.dim();
  const auto wrap = [&](std::int64_t dim) {
    return std::clamp<std::int64_t>(dim < 0 ? dim + rank : dim, 0, rank);
  };
  for (std::int64_t dim = wrap(begin); dim < wrap(end); ++dim) {
    shape.push_back(tensor.size(dim));
  }
}

/// Appends the shape to which `a` and `b` broadcast.
inline void AppendBroadcast(Shape& shape, const at::Tensor& a, const at::Tensor& b) {
  const auto sizes = at::infer_size_dimvector(a.sizes(), b.sizes());
  shape.append(sizes.begin(), sizes.end());
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_SHAPE_H_
