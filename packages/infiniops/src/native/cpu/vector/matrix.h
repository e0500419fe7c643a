// Dot products of rows: the inner kernel of matrix products whose operands both
// have their inner dimension contiguous.
//
// Every result is one chain of multiply-adds per lane over the inner dimension,
// then one fixed sum over the lanes. Neither tile sizes nor neighbours change
// that, so a result depends on its two rows alone.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_

#include <cstring>

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// How rows stored as `T` are multiplied: `kStep` elements at a time.
template <typename T>
struct Dot {
  using Vector = Floats;
  static constexpr std::int64_t kStep = kLanes;
  static Vector Read(const T* values) { return Load(values); }
  static Floats Add(Vector a, Vector b, Floats sum) { return MultiplyAdd(a, b, sum); }
};

#if defined(__AVX512BF16__)
/// Multiplies pairs of neighbours exactly and adds both to a float lane;
/// subnormal inputs count as zero.
template <>
struct Dot<BFloat16> {
  using Vector = __m512i;
  static constexpr std::int64_t kStep = 32;
  static Vector Read(const BFloat16* values) { return _mm512_loadu_si512(values); }
  static Floats Add(Vector a, Vector b, Floats sum) {
    return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, a), __builtin_bit_cast(__m512bh, b));
  }
};
#endif

/// Most rows of the left operand that a tile keeps in registers.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kMaxTileRows = 6;
#else
inline constexpr int kMaxTileRows = 3;
#endif

/// Writes the dot products of `kRows` rows `x` with `kColumns` rows `w`.
template <typename T, int kRows, int kColumns>
void Tile(const T* const* x, const T* const* w, std::int64_t depth, float (*result)[kColumns]) {
  static_assert(kColumns % 4 == 0);
  using D = Dot<T>;
  Floats sums[kRows][kColumns] = {};
  const auto add = [&sums](const auto& x_at, const auto& w_at) {
    typename D::Vector columns[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) columns[j] = D::Read(w_at(j));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const typename D::Vector row = D::Read(x_at(i));
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        sums[i][j] = D::Add(row, columns[j], sums[i][j]);
      }
    }
  };
  std::int64_t k = 0;
  for (; k + D::kStep <= depth; k += D::kStep) {
    add([&](int i) { return x[i] + k; }, [&](int j) { return w[j] + k; });
  }
  if (k < depth) {
    T x_tail[kRows][D::kStep] = {};
    T w_tail[kColumns][D::kStep] = {};
    const auto bytes = static_cast<std::size_t>(depth - k) * sizeof(T);
    for (int i = 0; i < kRows; ++i) std::memcpy(x_tail[i], x[i] + k, bytes);
    for (int j = 0; j < kColumns; ++j) std::memcpy(w_tail[j], w[j] + k, bytes);
    add([&](int i) { return x_tail[i]; }, [&](int j) { return w_tail[j]; });
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; j += 4) {
      const FourFloats four = SumLanes(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
      std::memcpy(&result[i][j], &four, sizeof(four));
    }
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_
