#include "native/cpu/shared/reduce.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>
#include "core/check.h"

namespace infini::ops::cpu {

namespace {

using Sizes = std::vector<std::int64_t>;

/// A view of dimensions of `input`, the widest strides first where their order does not matter,
/// with adjacent ones joined.
TensorView Joined(const TensorView& input, std::vector<int> dims, bool sorted) {
  std::erase_if(dims, [&input](int dim) { return input.size(dim) == 1; });
  if (sorted) {
    std::ranges::stable_sort(dims, [&input](int a, int b) {
      return std::abs(input.stride(a)) > std::abs(input.stride(b));
    });
  }
  Sizes shape;
  Sizes strides;
  for (const int dim : dims) {
    const std::int64_t size = input.size(dim);
    const std::int64_t stride = input.stride(dim);
    if (!shape.empty() && strides.back() == stride * size) {
      shape.back() *= size;
      strides.back() = stride;
    } else {
      shape.push_back(size);
      strides.push_back(stride);
    }
  }
  if (shape.empty()) {
    shape.push_back(1);
    strides.push_back(1);
  }
  return {input.data(), shape, strides, input.dtype(), input.device()};
}

}  // namespace

void LaunchReduce(const char* op, const Context& context, Reduction reduction,
                  const TensorView& input, std::span<const std::int64_t> dims,
                  const ReduceOutputs& outputs) {
  const int rank = input.rank();
  std::vector<int> kept;
  std::vector<int> reduced;
  for (int dim = 0; dim < rank; ++dim) {
    const bool drop = dims.empty() || std::ranges::any_of(dims, [&](std::int64_t one) {
                        return ops::internal::WrapDim(one, rank) == dim;
                      });
    (drop ? reduced : kept).push_back(dim);
    if (drop && input.size(dim) == 0 &&
        (reduction == Reduction::kGreatest || reduction == Reduction::kLeast)) {
      throw Error(ErrorCode::kInvalidArgument, op, input.device().ToString(),
                  "`input` has shape " + ops::internal::ShapeText(input.shape()) +
                      ", so that there is no element to choose along dimension " +
                      std::to_string(dim));
    }
  }
  const TensorView& first = outputs.values != nullptr ? *outputs.values : *outputs.indices;
  if (first.numel() == 0) return;
  // The kept dimensions in the outputs, which may have the others with size 1.
  const bool keepdim = first.rank() == rank;
  const auto kept_view = [&](const TensorView& view, bool is_input) {
    Sizes shape;
    Sizes strides;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      shape.push_back(input.size(kept[k]));
      strides.push_back(view.stride(is_input || keepdim ? kept[k] : static_cast<int>(k)));
    }
    return TensorView(view.data(), shape, strides, view.dtype(), view.device());
  };
  const TensorView& second = outputs.indices != nullptr ? *outputs.indices : first;
  ReduceTask task;
  task.reduction = reduction;
  task.dtype = input.dtype();
  task.has_values = outputs.values != nullptr;
  task.has_indices = outputs.indices != nullptr;
  // Nothing to read: the loop must not look for its address.
  const bool empty = input.numel() == 0;
  const TensorView out = kept_view(first, false);
  task.kept = MakeLoop(op, out, empty ? out : kept_view(input, true), kept_view(second, false));
  task.reduced = MakeRows(op, Joined(input, reduced, !task.has_indices));
  if (empty) task.reduced.count = 0;
  if (task.reduced.length == 0) task.reduced.length = 1;
  Launch(context, task);
}

}  // namespace infini::ops::cpu
