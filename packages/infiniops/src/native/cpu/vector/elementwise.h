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

/// Elements that a block of widened 16-bit floats holds.
inline constexpr std::int64_t kBlock = 256;

/// One run of a function of two operands whose elements are stored and computed
/// as `T`.
template <typename T, typename Function>
void BinaryRun(char* const* pointers, const std::int64_t* strides, std::int64_t count,
               Function function) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (strides[0] == kSize && (strides[1] == kSize || strides[1] == 0) &&
      (strides[2] == kSize || strides[2] == 0)) {
    auto* out = reinterpret_cast<T*>(pointers[0]);
    const auto* a = reinterpret_cast<const T*>(pointers[1]);
    const auto* b = reinterpret_cast<const T*>(pointers[2]);
    if (strides[1] == 0) {
      const T single = *a;
      if (strides[2] == 0) {
        const T value = function(single, *b);
        for (std::int64_t i = 0; i < count; ++i) out[i] = value;
        return;
      }
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) out[i] = function(single, b[i]);
    } else if (strides[2] == 0) {
      const T single = *b;
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) out[i] = function(a[i], single);
    } else {
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
    }
    return;
  }
  char* out = pointers[0];
  const char* a = pointers[1];
  const char* b = pointers[2];
  for (std::int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<T*>(out) =
        function(*reinterpret_cast<const T*>(a), *reinterpret_cast<const T*>(b));
    out += strides[0];
    a += strides[1];
    b += strides[2];
  }
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

/// The same for 16-bit floats, which are computed as float and rounded once.
template <typename T, typename Function>
void BinaryRunWidened(char* const* pointers, const std::int64_t* strides, std::int64_t count,
                      Function function) {
  alignas(64) float a[kBlock];
  alignas(64) float b[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t length = count - begin < kBlock ? count - begin : kBlock;
    Gather<T>(pointers[1] + begin * strides[1], strides[1], length, a);
    Gather<T>(pointers[2] + begin * strides[2], strides[2], length, b);
    for (std::int64_t i = 0; i < length; ++i) a[i] = function(a[i], b[i]);
    Scatter<T>(a, length, pointers[0] + begin * strides[0], strides[0]);
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

/// Calls `function(a, b)` for each element of a loop over operands stored as
/// `T`; it takes and returns `Compute<T>`.
template <typename T, typename Function>
void RunBinary(const StridedLoop<3>& loop, Function function) {
  ForEachRun(loop, [&](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
    if constexpr (std::is_same_v<T, Compute<T>>) {
      BinaryRun<T>(pointers, strides, count, function);
    } else {
      BinaryRunWidened<T>(pointers, strides, count, function);
    }
  });
}

/// The same for a `BinaryTask`, whatever its element type: `function` takes and returns any
/// `Compute<T>`.
template <typename Task, typename Function>
void RunBinaryTask(const Task& task, Function function) {
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    using C = Compute<T>;
    RunBinary<T>(task.loop, [function](C a, C b) { return function(a, b); });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ELEMENTWISE_H_
