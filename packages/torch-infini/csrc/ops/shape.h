// Shape rules of operators.json, for the generated operator table.
#ifndef TORCH_INFINI_OPS_SHAPE_H_
#define TORCH_INFINI_OPS_SHAPE_H_

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

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

/// Appends the sizes of `tensor` without the dimensions `dims` (none means all),
/// or with 1 in their place.
inline void AppendReduced(Shape& shape, const at::Tensor& tensor,
                          std::span<const std::int64_t> dims, bool keepdim) {
  const std::int64_t rank = tensor.dim();
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    const bool reduced = dims.empty() || std::find(dims.begin(), dims.end(), dim) != dims.end() ||
                         std::find(dims.begin(), dims.end(), dim - rank) != dims.end();
    if (!reduced) {
      shape.push_back(tensor.size(dim));
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
}

/// Appends the sizes of `tensor` with `size` in dimension `dim`.
inline void AppendReplaced(Shape& shape, const at::Tensor& tensor, std::int64_t dim,
                           std::int64_t size) {
  const auto sizes = tensor.sizes();
  const std::size_t before = shape.size();
  shape.append(sizes.begin(), sizes.end());
  if (tensor.dim() == 0) return;
  shape[before + static_cast<std::size_t>(c10::maybe_wrap_dim(dim, tensor.dim()))] = size;
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_SHAPE_H_
