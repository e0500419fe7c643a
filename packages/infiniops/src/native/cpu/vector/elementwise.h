// Runs a function over the elements of a loop nest.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ELEMENTWISE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ELEMENTWISE_H_

#include <infini/rt/parallel.h>

#include "native/cpu/strided_loop.h"
#include "native/cpu/vector/dtype.h"

// The operands of a loop are the same element or lie apart, so its iterations
// are independent.
#if defined(__clang__)
#define INFINI_OPS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INFINI_OPS_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Elements per thread from which a loop is worth splitting.
inline constexpr std::int64_t kElementGrain = 32768;

/// The addresses of element `index` of `loop` in each operand.
template <int kOperands>
void Locate(const StridedLoop<kOperands>& loop, std::int64_t index, char* (&pointers)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) pointers[k] = loop.data[k];
  for (int dim = 0; dim < loop.rank; ++dim) {
    const std::int64_t at = index % loop.sizes[dim];
    index /= loop.sizes[dim];
    for (int k = 0; k < kOperands; ++k) pointers[k] += at * loop.strides[dim][k];
  }
}

/// Calls `row(pointers, strides, count)` for the innermost runs of `loop`,
/// possibly on several threads; a run may be split anywhere.
template <int kOperands, typename Row>
void ForEachRun(const StridedLoop<kOperands>& loop, Row row) {
  rt::ParallelFor(loop.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[kMaxTaskRank];
    char* pointers[kOperands];
    for (int k = 0; k < kOperands; ++k) pointers[k] = loop.data[k];
    std::int64_t rest = begin;
    for (int dim = 0; dim < loop.rank; ++dim) {
      index[dim] = rest % loop.sizes[dim];
      rest /= loop.sizes[dim];
      for (int k = 0; k < kOperands; ++k) {
        pointers[k] += index[dim] * loop.strides[dim][k];
      }
    }
    while (begin < end) {
      std::int64_t count = loop.sizes[0] - index[0];
      if (count > end - begin) count = end - begin;
      row(pointers, loop.strides[0], count);
      begin += count;
      // Carry into the outer dimensions, from the start of this run.
      for (int k = 0; k < kOperands; ++k) {
        pointers[k] -= index[0] * loop.strides[0][k];
      }
      index[0] = 0;
      for (int dim = 1; dim < loop.rank; ++dim) {
        for (int k = 0; k < kOperands; ++k) {
          pointers[k] += loop.strides[dim][k];
        }
        if (++index[dim] < loop.sizes[dim]) break;
        for (int k = 0; k < kOperands; ++k) {
          pointers[k] -= loop.sizes[dim] * loop.strides[dim][k];
        }
        index[dim] = 0;
      }
    }
  });
}

/// Widens `count` elements, `stride` bytes apart.
template <typename T>
void Gather(const char* from, std::int64_t stride, std::int64_t count, float* block) {
  if (stride == static_cast<std::int64_t>(sizeof(T))) {
    WidenBlock(reinterpret_cast<const T*>(from), block, count);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    block[i] = Widen(*reinterpret_cast<const T*>(from + i * stride));
  }
}

/// Narrows `count` elements to places `stride` bytes apart.
template <typename T>
void Scatter(const float* block, std::int64_t count, char* to, std::int64_t stride) {
  if (stride == static_cast<std::int64_t>(sizeof(T))) {
    NarrowBlock(block, reinterpret_cast<T*>(to), count);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    Narrow(block[i], reinterpret_cast<T*>(to + i * stride));
  }
}

/// The type in which elements stored as `T` are computed.
template <typename T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Float16> {
  using type = float;
};
template <>
struct ComputeType<BFloat16> {
  using type = float;
};
template <typename T>
using Compute = typename ComputeType<T>::type;

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ELEMENTWISE_H_
