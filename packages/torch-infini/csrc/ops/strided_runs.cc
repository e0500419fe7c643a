#include "ops/strided_runs.h"

#include <algorithm>

namespace torch_infini {

StridedRuns::StridedRuns(c10::IntArrayRef sizes, c10::IntArrayRef first_strides,
                         c10::IntArrayRef second_strides) {
  c10::SmallVector<std::size_t, 8> order;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) order.push_back(dim);
  // Any order of the dimensions is right; this one makes the longest runs.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return first_strides[a] > first_strides[b];
  });
  for (const std::size_t dim : order) {
    const std::int64_t size = sizes[dim];
    count_ *= size;
    if (size == 1) continue;
    const std::int64_t first = first_strides[dim];
    const std::int64_t second = second_strides[dim];
    if (!sizes_.empty() && first_.back() == first * size && second_.back() == second * size) {
      sizes_.back() *= size;
      first_.back() = first;
      second_.back() = second;
    } else {
      sizes_.push_back(size);
      first_.push_back(first);
      second_.push_back(second);
    }
  }
  if (count_ > 0 && !sizes_.empty() && first_.back() == 1 && second_.back() == 1) {
    length_ = sizes_.back();
    count_ /= length_;
    sizes_.pop_back();
    first_.pop_back();
    second_.pop_back();
  }
}

}  // namespace torch_infini
