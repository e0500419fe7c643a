#include "native/cpu/strided_loop.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace infini::ops::cpu {
namespace {

[[noreturn]] void ThrowRank(const char* op, const TensorView& view) {
  throw Error(ErrorCode::kNotSupported, op, view.device().ToString(),
              "the strides of " + view.ToString() + " leave more than " +
                  std::to_string(kMaxTaskRank) +
                  " dimensions that cannot be joined; copy it to a contiguous "
                  "tensor");
}

constexpr int kMaxOperands = 4;

/// One dimension of a loop nest, strides in bytes.
struct Dimension {
  std::int64_t size;
  std::array<std::int64_t, kMaxOperands> strides;
};

std::int64_t Magnitude(std::int64_t value) { return value < 0 ? -value : value; }

}  // namespace

namespace internal {

void FillLoop(const char* op, const TensorView* const* views, int operands, int* rank,
              std::int64_t* count, char** data, std::int64_t* sizes, std::int64_t* strides) {
  static_assert(kMaxOperands >= 4);
  const TensorView& output = *views[0];
  const auto shape = output.shape();
  const int dims = static_cast<int>(shape.size());
  std::int64_t item[kMaxOperands];
  for (int i = 0; i < operands; ++i) {
    item[i] = static_cast<std::int64_t>(rt::DataTypeSize(views[i]->dtype()));
    data[i] = static_cast<char*>(TaskAddress(*views[i]));
  }
  *count = output.numel();
  // Dimensions of more than one element, innermost (last) first.
  std::array<Dimension, kMaxTaskRank> inline_dims;
  std::vector<Dimension> heap_dims;
  Dimension* nest = inline_dims.data();
  if (dims > kMaxTaskRank) {
    heap_dims.resize(static_cast<std::size_t>(dims));
    nest = heap_dims.data();
  }
  int used = 0;
  for (int dim = dims; dim-- > 0;) {
    if (shape[static_cast<std::size_t>(dim)] == 1) continue;
    Dimension& entry = nest[used++];
    entry.size = shape[static_cast<std::size_t>(dim)];
    for (int i = 0; i < operands; ++i) {
      const int own = dim - (dims - views[i]->rank());
      const bool repeats = own < 0 || views[i]->shape()[static_cast<std::size_t>(own)] == 1;
      entry.strides[static_cast<std::size_t>(i)] =
          repeats ? 0 : views[i]->strides()[static_cast<std::size_t>(own)] * item[i];
    }
  }
  // A stable insertion sort: the smallest output stride becomes the inner loop.
  for (int i = 1; i < used; ++i) {
    for (int j = i; j > 0 && Magnitude(nest[j].strides[0]) < Magnitude(nest[j - 1].strides[0]);
         --j) {
      std::swap(nest[j], nest[j - 1]);
    }
  }
  int joined = 0;
  for (int i = 0; i < used; ++i) {
    bool adjacent = joined > 0;
    for (int k = 0; adjacent && k < operands; ++k) {
      const auto operand = static_cast<std::size_t>(k);
      adjacent =
          nest[i].strides[operand] == nest[joined - 1].strides[operand] * nest[joined - 1].size;
    }
    if (adjacent) {
      nest[joined - 1].size *= nest[i].size;
    } else {
      nest[joined++] = nest[i];
    }
  }
  if (joined > kMaxTaskRank) ThrowRank(op, output);
  *rank = std::max(joined, 1);
  sizes[0] = 1;  // rank 0 is a loop of one step
  for (int k = 0; k < operands; ++k) strides[k] = 0;
  for (int i = 0; i < joined; ++i) {
    sizes[i] = nest[i].size;
    for (int k = 0; k < operands; ++k) {
      strides[i * operands + k] = nest[i].strides[static_cast<std::size_t>(k)];
    }
  }
}

}  // namespace internal

Rows MakeRows(const char* op, const TensorView& view) {
  Rows rows;
  rows.data = static_cast<char*>(TaskAddress(view));
  const auto shape = view.shape();
  const auto strides = view.strides();
  rows.length = shape.back();
  rows.inner_stride = rows.length == 1 ? 1 : strides.back();
  rows.count = 1;
  rows.rank = 0;
  for (std::size_t dim = shape.size() - 1; dim-- > 0;) {
    const std::int64_t size = shape[dim];
    rows.count *= size;
    if (size == 1) continue;
    if (rows.rank > 0 && strides[dim] == rows.strides[rows.rank - 1] * rows.sizes[rows.rank - 1]) {
      rows.sizes[rows.rank - 1] *= size;
      continue;
    }
    if (rows.rank == kMaxTaskRank) ThrowRank(op, view);
    rows.sizes[rows.rank] = size;
    rows.strides[rows.rank] = strides[dim];
    ++rows.rank;
  }
  if (rows.rank == 0) {
    rows.rank = 1;
    rows.sizes[0] = 1;
    rows.strides[0] = 0;
  }
  return rows;
}

}  // namespace infini::ops::cpu
