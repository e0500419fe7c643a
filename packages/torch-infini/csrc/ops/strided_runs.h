// Splits a copy between two strided tensors into runs of adjacent elements.
#ifndef TORCH_INFINI_OPS_STRIDED_RUNS_H_
#define TORCH_INFINI_OPS_STRIDED_RUNS_H_

#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <vector>

namespace torch_infini {

/// The elements that two tensors of one shape share as runs: `length` elements
/// that lie side by side in both. All numbers count elements.
class StridedRuns {
 public:
  StridedRuns(c10::IntArrayRef sizes, c10::IntArrayRef first_strides,
              c10::IntArrayRef second_strides);

  std::int64_t length() const noexcept { return length_; }
  std::int64_t count() const noexcept { return count_; }

  /// Calls `function(first_offset, second_offset)` for every run.
  template <typename Function>
  void ForEach(Function&& function) const {
    std::vector<std::int64_t> index(sizes_.size());
    std::int64_t first = 0;
    std::int64_t second = 0;
    for (std::int64_t run = 0; run < count_; ++run) {
      function(first, second);
      for (std::size_t dim = sizes_.size(); dim-- > 0;) {
        first += first_[dim];
        second += second_[dim];
        if (++index[dim] < sizes_[dim]) break;
        first -= first_[dim] * sizes_[dim];
        second -= second_[dim] * sizes_[dim];
        index[dim] = 0;
      }
    }
  }

 private:
  // Of the dimensions that are not part of a run, outermost first.
  c10::SmallVector<std::int64_t, 8> sizes_;
  c10::SmallVector<std::int64_t, 8> first_;
  c10::SmallVector<std::int64_t, 8> second_;
  std::int64_t length_ = 1;
  std::int64_t count_ = 1;
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_STRIDED_RUNS_H_
