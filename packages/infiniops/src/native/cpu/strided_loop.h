// How kernels walk over strided tensors: the loop nest of an elementwise
// operator, and the rows of a tensor.
#ifndef INFINI_OPS_NATIVE_CPU_STRIDED_LOOP_H_
#define INFINI_OPS_NATIVE_CPU_STRIDED_LOOP_H_

#include <infini/rt/data_type.h>

#include "native/cpu/kernel.h"

#ifndef INFINI_OPS_CPU_ISA
#include "core/check.h"
#endif

namespace infini::ops::cpu {

/// Most dimensions that a task can hold, after adjacent ones were joined.
inline constexpr int kMaxTaskRank = 16;

/// A loop nest over `kOperands` operands; operand 0 is the output. Dimension 0
/// is the innermost. Strides count bytes.
template <int kOperands>
struct StridedLoop {
  int rank;
  std::int64_t count;  // product of the sizes
  char* data[kOperands];
  std::int64_t sizes[kMaxTaskRank];
  std::int64_t strides[kMaxTaskRank][kOperands];
};

/// The slices of a tensor along its last dimension. Strides count elements.
struct Rows {
  char* data;
  std::int64_t count;
  std::int64_t length;
  std::int64_t inner_stride;
  int rank;  // of the leading dimensions, adjacent ones joined, innermost first
  std::int64_t sizes[kMaxTaskRank];
  std::int64_t strides[kMaxTaskRank];

  /// Offset in elements of the first element of row `index`.
  INFINI_OPS_INLINE std::int64_t Offset(std::int64_t index) const {
    if (rank == 1) return index * strides[0];
    std::int64_t offset = 0;
    for (int dim = 0; dim < rank; ++dim) {
      offset += index % sizes[dim] * strides[dim];
      index /= sizes[dim];
    }
    return offset;
  }
};

#ifndef INFINI_OPS_CPU_ISA

namespace internal {

/// Whether `input` is contiguous and of the output's shape.
inline bool IsAlike(const TensorView& output, const TensorView& input) {
  return ops::internal::SameSizes(output.shape(), input.shape()) && input.is_contiguous();
}

/// Fills a loop nest; `views[0]` is the output, the others broadcast to it.
void FillLoop(const char* op, const TensorView* const* views, int operands, int* rank,
              std::int64_t* count, char** data, std::int64_t* sizes, std::int64_t* strides);

}  // namespace internal

/// Makes the loop nest that visits every element of `output` once: dimensions
/// are sorted by the output's strides and joined where all operands allow it.
/// Throws `Error` (not supported) when more than `kMaxTaskRank` remain.
template <typename... Inputs>
auto MakeLoop(const char* op, const TensorView& output, const Inputs&... inputs) {
  constexpr int kOperands = 1 + sizeof...(inputs);
  const TensorView* views[] = {&output, &inputs...};
  StridedLoop<kOperands> loop;
  if (output.is_contiguous() && (internal::IsAlike(output, inputs) && ...)) {
    loop.rank = 1;
    loop.count = loop.sizes[0] = output.numel();
    for (int i = 0; i < kOperands; ++i) {
      loop.data[i] = static_cast<char*>(TaskAddress(*views[i]));
      loop.strides[0][i] = static_cast<std::int64_t>(rt::DataTypeSize(views[i]->dtype()));
    }
    return loop;
  }
  internal::FillLoop(op, views, kOperands, &loop.rank, &loop.count, loop.data, loop.sizes,
                     &loop.strides[0][0]);
  return loop;
}

/// Describes the rows of `view`, whose rank is at least 1. Throws `Error` (not
/// supported) when more than `kMaxTaskRank` leading dimensions remain.
Rows MakeRows(const char* op, const TensorView& view);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_STRIDED_LOOP_H_
