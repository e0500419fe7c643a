// Small matrix products whose right operand is packed: the inner kernels of blocked attention.
//
// A product adds up over the depth in one chain for each result, so results depend on the operands
// alone. Operands are floats, or pairs of bfloat16 where the instruction set multiplies those.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PANEL_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PANEL_H_

#include <cstring>
#include <type_traits>

#include "native/cpu/vector/elementwise.h"
#include "native/cpu/vector/simd.h"
#include "native/cpu/vector/transpose.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// How matrices of elements stored as `T` are multiplied: what one step of the depth holds on
/// either side, and how many elements of the depth that is.
template <typename T>
struct PanelOf {
  using Left = float;
  using Right = float;
  using Vector = Floats;
  static constexpr int kDepth = 1;
  static Vector Read(const Right* values) { return Load(values); }
  static Vector Spread(Left value) { return value - Floats{}; }
  static Floats Add(Vector a, Vector b, Floats sum) { return MultiplyAdd(a, b, sum); }
};

#if defined(__AVX512BF16__)
/// Two neighbours of the depth in one number; both products are exact.
template <>
struct PanelOf<BFloat16> {
  using Left = std::uint32_t;
  using Right = std::uint32_t;
  using Vector = __m512i;
  static constexpr int kDepth = 2;
  static Vector Read(const Right* values) { return _mm512_loadu_si512(values); }
  static Vector Spread(Left value) { return _mm512_set1_epi32(static_cast<int>(value)); }
  static Floats Add(Vector a, Vector b, Floats sum) {
    return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, a), __builtin_bit_cast(__m512bh, b));
  }
};
#endif

/// Rows that `Panel` computes at a time, as registers allow.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kPanelRows = 8;
#elif defined(__AVX2__)
inline constexpr int kPanelRows = 6;
#else
inline constexpr int kPanelRows = 4;
#endif

/// A left operand: rows of `depth` steps, `stride` apart.
template <typename T>
struct LeftRows {
  const typename PanelOf<T>::Left* data;
  std::int64_t stride;
};

/// A right operand: steps of the depth, `stride` apart, each with a value for every column.
template <typename T>
struct RightSteps {
  const typename PanelOf<T>::Right* data;
  std::int64_t stride;
};

/// Writes `kPanelRows` rows and `kVectors` vectors of columns of the product to `result`, whose
/// rows are `stride` apart. With `factors`, one for each row, adds to `result` times its factor
/// instead.
template <typename T, int kVectors>
void Panel(LeftRows<T> left, RightSteps<T> right, std::int64_t depth, const float* factors,
           float* result, std::int64_t stride) {
  using P = PanelOf<T>;
  Floats sums[kPanelRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kPanelRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sums[i][j] =
          factors == nullptr ? Floats{} : Load(result + i * stride + j * kLanes) * factors[i];
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    typename P::Vector columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      columns[j] = P::Read(right.data + k * right.stride + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kPanelRows; ++i) {
      const typename P::Vector row = P::Spread(left.data[i * left.stride + k]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = P::Add(row, columns[j], sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kPanelRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) Store(sums[i][j], result + i * stride + j * kLanes);
  }
}

/// The product of `rows` rows, a multiple of `kPanelRows`, and `columns` columns, a multiple of
/// `kLanes`; see `Panel`.
template <typename T>
void Multiply(LeftRows<T> left, RightSteps<T> right, std::int64_t depth, std::int64_t rows,
              std::int64_t columns, const float* factors, float* result, std::int64_t stride) {
  std::int64_t column = 0;
  const auto strip = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
    for (std::int64_t row = 0; row < rows; row += kPanelRows) {
      Panel<T, kVectors>(
          {left.data + row * left.stride, left.stride}, {right.data + column, right.stride}, depth,
          factors == nullptr ? nullptr : factors + row, result + row * stride + column, stride);
    }
  };
  // The columns outside: a panel of them stays in the first-level cache for all rows.
  for (; column + 2 * kLanes <= columns; column += 2 * kLanes) {
    strip(std::integral_constant<int, 2>());
  }
  if (column < columns) strip(std::integral_constant<int, 1>());
}

/// One step of the depth at element `k` of a row of `size` elements; 0 beyond its end.
template <typename T>
typename PanelOf<T>::Left StepAt(const T* row, std::int64_t k, std::int64_t size) {
  if constexpr (PanelOf<T>::kDepth == 1) {
    if constexpr (std::is_same_v<T, float>)
      return row[k];
    else
      return Widen(row[k]);
  } else {
    const std::uint32_t low = row[k].bits;
    return low | (k + 1 < size ? static_cast<std::uint32_t>(row[k + 1].bits) << 16 : 0u);
  }
}

/// `kLanes` steps of the depth from element `k` of a row, as they are stored in a packed operand.
template <typename T>
Floats StepsAt(const T* row, std::int64_t k) {
  if constexpr (PanelOf<T>::kDepth == 1)
    return Load(row + k);
  else
    return Load(reinterpret_cast<const float*>(row + k));
}

/// Steps of the depth of `size` elements.
template <typename T>
constexpr std::int64_t StepsOf(std::int64_t size) {
  return (size + PanelOf<T>::kDepth - 1) / PanelOf<T>::kDepth;
}

/// Packs `count` rows of `size` elements as the columns of a right operand: step k of row n goes to
/// `packed[k * count + n]`. `count` is a multiple of `kLanes`.
template <typename T>
void PackColumns(const T* const* rows, std::int64_t count, std::int64_t size,
                 typename PanelOf<T>::Right* packed) {
  const std::int64_t whole = size / PanelOf<T>::kDepth / kLanes * kLanes;
  for (std::int64_t n = 0; n < count; n += kLanes) {
    for (std::int64_t k = 0; k < whole; k += kLanes) {
      Floats tile[kLanes];
      for (int i = 0; i < kLanes; ++i) tile[i] = StepsAt(rows[n + i], k * PanelOf<T>::kDepth);
      Transpose(tile);
      for (int i = 0; i < kLanes; ++i) {
        std::memcpy(packed + (k + i) * count + n, &tile[i], sizeof(Floats));
      }
    }
    for (std::int64_t k = whole; k < StepsOf<T>(size); ++k) {
      for (int i = 0; i < kLanes; ++i) {
        packed[k * count + n + i] = StepAt(rows[n + i], k * PanelOf<T>::kDepth, size);
      }
    }
  }
}

/// Packs `count` rows of `size` elements as the steps of a right operand of `columns` columns,
/// which is at least `size`; further columns are 0. `count` is even.
template <typename T>
void PackSteps(const T* const* rows, std::int64_t count, std::int64_t size, std::int64_t columns,
               typename PanelOf<T>::Right* packed) {
  using P = PanelOf<T>;
  for (std::int64_t n = 0; n < count; n += P::kDepth, packed += columns) {
    std::int64_t d = 0;
    if constexpr (P::kDepth == 1) {
      for (; d + kLanes <= size; d += kLanes) Store(Load(rows[n] + d), packed + d);
      for (; d < size; ++d) packed[d] = StepAt(rows[n], d, size);
    } else {
      INFINI_OPS_INDEPENDENT
      for (d = 0; d < size; ++d) {
        packed[d] = static_cast<std::uint32_t>(rows[n][d].bits) |
                    static_cast<std::uint32_t>(rows[n + 1][d].bits) << 16;
      }
    }
    for (d = size; d < columns; ++d) packed[d] = 0;
  }
}

/// Packs `count` floats, a multiple of 2 * `kLanes`, as a row of a left operand; rounds where that
/// is narrower.
template <typename T>
void PackLeft(const float* values, std::int64_t count, typename PanelOf<T>::Left* packed) {
  if constexpr (PanelOf<T>::kDepth == 1) {
    if (values != packed) std::memcpy(packed, values, static_cast<std::size_t>(count) * 4);
  } else {
#if defined(__AVX512BF16__)
    for (std::int64_t i = 0; i < count; i += 2 * kLanes) {
      const __m512bh pairs = _mm512_cvtne2ps_pbh(Load(values + i + kLanes), Load(values + i));
      std::memcpy(packed + i / 2, &pairs, sizeof(pairs));
    }
#endif
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_PANEL_H_
