// Transposing numbers in registers.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Interleaves the low or high halves of `a` and `b`.
inline Floats InterleaveLow(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}

inline Floats InterleaveHigh(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

/// Transposes in place a matrix of `kLanes` rows of `kCount` numbers, which lie one after another,
/// to `kCount` rows of `kLanes`. Only moves lanes, whatever their bits mean.
template <int kCount>
inline void Transpose(Floats (&vectors)[kCount]) {
  static_assert(kCount % 2 == 0);
  // Each round interleaves the first half of the numbers with the second; log2(kLanes) rounds
  // transpose.
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
    Floats next[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      next[2 * i] = InterleaveLow(vectors[i], vectors[i + kCount / 2]);
      next[2 * i + 1] = InterleaveHigh(vectors[i], vectors[i + kCount / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) vectors[i] = next[i];
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_
