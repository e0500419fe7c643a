// One row times a weight that comes from memory. The rows of the weight are read one after another,
// each of them whole, so that memory is read in order: the processor then fetches it ahead by
// itself, faster than tiles of rows that ask for it, where pages are large.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ONE_ROW_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ONE_ROW_H_

#include <cstdint>

#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/matrix.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Columns whose lanes are added together.
inline constexpr std::int64_t kColumnsAdded = 4;
/// Longest row of the weight, in bytes, that is multiplied so, and the chunks that it has. Longer
/// ones gain nothing in large pages, and lose in small ones.
inline constexpr std::int64_t kLongestRow = 3072;
inline constexpr std::int64_t kMostChunks = 2;
/// Bytes from a row's start that are asked for with it: the fetching by itself ends where a small
/// page does.
inline constexpr std::int64_t kNextPageBytes = 4096;

/// Whether one row is multiplied so: a row has one chain of additions, which keeps up with memory
/// where each addition takes a whole line of it.
template <typename T>
constexpr bool TakesWeightRowByRow(std::int64_t depth) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  static_assert(Arithmetic<T>::kStep * kSize < 64 ||
                kLongestRow <= kMostChunks * kChunk<T> * kSize);
  return Arithmetic<T>::kStep * kSize >= 64 && depth * kSize <= kLongestRow;
}

/// Adds to `lanes`, one vector for each chunk, `kColumnsAdded` vectors apart, the products of `x`
/// with one row of the weight.
template <typename T>
void AddRow(const OperandOf<T>* x, const T* weight, std::int64_t depth,
            typename Arithmetic<T>::Sums* lanes) {
  using A = Arithmetic<T>;
  __builtin_prefetch(reinterpret_cast<const char*>(weight) + kNextPageBytes, 0, 2);
  for (std::int64_t start = 0; start < depth; start += kChunk<T>) {
    const std::int64_t stop = Least(start + kChunk<T>, depth);
    typename A::Sums sums = {};
    std::int64_t k = start;
    for (; k + A::kStep <= stop; k += A::kStep) {
      sums = A::Add(Arithmetic<OperandOf<T>>::Read(x + k), A::Read(weight + k), sums);
    }
    if (k < stop) {
      sums = A::Add(Arithmetic<OperandOf<T>>::Read(x + k), ReadPart<T>(weight + k, stop - k), sums);
    }
    *lanes = sums;
    lanes += kColumnsAdded;
  }
}

/// Adds to `sums` the products of one packed row with `columns` rows of the weight, `stride`
/// elements apart. `sums` has room for a multiple of `kColumnsAdded`.
template <typename T>
void AddOneRow(const OperandOf<T>* x, const T* weight, std::int64_t stride, std::int64_t columns,
               std::int64_t depth, SumOf<T>* sums) {
  using Sums = typename Arithmetic<T>::Sums;
  const std::int64_t chunks = DivideUp(depth, kChunk<T>);
  Sums lanes[kMostChunks * kColumnsAdded];
  for (std::int64_t j = 0; j < columns; j += kColumnsAdded) {
    const std::int64_t count = Least(kColumnsAdded, columns - j);
    for (std::int64_t c = 0; c < count; ++c) AddRow(x, weight + (j + c) * stride, depth, lanes + c);
    for (std::int64_t i = 0; i < chunks; ++i) {
      Sums* chunk = lanes + i * kColumnsAdded;
      for (std::int64_t c = count; c < kColumnsAdded; ++c) chunk[c] = Sums{};
      AddLanes(chunk[0], chunk[1], chunk[2], chunk[3], sums + j);
    }
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ONE_ROW_H_
