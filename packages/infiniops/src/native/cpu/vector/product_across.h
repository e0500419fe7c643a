// Products of few rows with a weight whose columns lie side by side, as in `x @ w`.
//
// The weight is read along its columns, a vector of them at a time, and nothing of it is copied.
// Each lane of a dot product (see matrix.h) has a sum of its own for every column, and the lanes
// are added in the order of `SumLanes`, so the bits are those of a product that packs the weight.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_ACROSS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_ACROSS_H_

#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/pack.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Most rows whose sums stay in the first-level cache beside enough columns.
inline constexpr std::int64_t kAcrossRows = 4;

/// How a weight stored as `T` is read across its columns: `kDepth` elements of the depth at a time,
/// which one lane of a dot product multiplies.
template <typename T>
struct AcrossOf {
  using Sum = SumOf<T>;
  using Vector = typename Arithmetic<T>::Sums;
  using Left = Sum;  // what a lane takes of x
  static constexpr std::int64_t kDepth = 1;
  static constexpr std::int64_t kLaneCount = Arithmetic<T>::kStep;

  static Left LeftAt(const Strided<T>& x, std::int64_t row, std::int64_t k, std::int64_t) {
    if constexpr (std::is_same_v<T, Sum>) {
      return *x.At(row, k);
    } else {
      return Widen(*x.At(row, k));
    }
  }
  /// The elements at `w`, and nothing of the next row.
  static Vector Read(const T* w, const T*) { return Load(w); }
  static Vector Add(Left left, Vector right, Vector sum) {
    return MultiplyAdd(left - Vector{}, right, sum);
  }
};

#if defined(__AVX512BF16__)
template <>
struct AcrossOf<BFloat16> {
  using Sum = float;
  using Vector = Floats;
  using Left = std::uint32_t;
  static constexpr std::int64_t kDepth = 2;
  static constexpr std::int64_t kLaneCount = kLanes;

  static Left LeftAt(const Strided<BFloat16>& x, std::int64_t row, std::int64_t k,
                     std::int64_t depth) {
    const std::uint32_t low = x.At(row, k)->bits;
    return low | (k + 1 < depth ? static_cast<std::uint32_t>(x.At(row, k + 1)->bits) << 16 : 0u);
  }
  /// Pairs of the elements at `w` and at `next`; zeros where that is null.
  static Vector Read(const BFloat16* w, const BFloat16* next) {
    const auto wide = [](const BFloat16* from) {
      return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    };
    const __m512i low = wide(w);
    if (next == nullptr) return __builtin_bit_cast(Floats, low);
    return __builtin_bit_cast(Floats, _mm512_or_si512(low, _mm512_slli_epi32(wide(next), 16)));
  }
  static Vector Add(Left left, Vector right, Vector sum) {
    return Arithmetic<BFloat16>::Add(_mm512_set1_epi32(static_cast<int>(left)),
                                     __builtin_bit_cast(__m512i, right), sum);
  }
};
#endif

/// The sum of the lanes, vectors `stride` elements apart, in the order of `SumLanes`.
template <typename T>
typename AcrossOf<T>::Vector AddLanesAcross(const SumOf<T>* lanes, std::int64_t stride) {
  using Vector = typename AcrossOf<T>::Vector;
  constexpr bool kDouble = std::is_same_v<SumOf<T>, double>;
  constexpr int kParts = static_cast<int>(AcrossOf<T>::kLaneCount) / (kDouble ? 2 : 4);
  const auto at = [&](int lane) { return Load(lanes + lane * stride); };
  Vector parts[kParts];
  for (int i = 0; i < kParts; ++i) {
    if constexpr (kDouble) {
      parts[i] = at(2 * i) + at(2 * i + 1);
    } else {
      parts[i] = (at(4 * i) + at(4 * i + 2)) + (at(4 * i + 1) + at(4 * i + 3));
    }
  }
  if constexpr (kParts == 4) return (parts[0] + parts[2]) + (parts[1] + parts[3]);
  if constexpr (kParts == 2) return parts[0] + parts[1];
  return parts[0];
}

/// Writes the products of `rows` rows of x, given as `left`, with `columns` columns of the weight
/// from `weight` on to `sums`, whose rows are `stride` apart: a multiple of a vector. `lanes` has
/// room for `rows` * `kLaneCount` * `stride` sums.
template <typename T>
void StreamAcross(const typename AcrossOf<T>::Left* left, std::int64_t rows,
                  const Strided<T>& weight, std::int64_t columns, std::int64_t depth,
                  SumOf<T>* lanes, SumOf<T>* sums, std::int64_t stride) {
  using A = AcrossOf<T>;
  constexpr std::int64_t kWidth = sizeof(typename A::Vector) / sizeof(SumOf<T>);
  const std::int64_t steps = DivideUp(depth, A::kDepth);
  const std::int64_t next = weight.column_stride;
  const std::int64_t line_bytes = columns * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t ahead = DivideUp(kAheadBytes, line_bytes) * next;
  for (std::int64_t i = 0; i < rows * stride; ++i) sums[i] = 0;
  for (std::int64_t begin = 0; begin < depth; begin += kChunk<T>) {
    for (std::int64_t i = 0; i < rows * A::kLaneCount * stride; ++i) lanes[i] = 0;
    const std::int64_t end = Least(begin + kChunk<T>, depth);
    for (std::int64_t k = begin; k < end; k += A::kDepth) {
      const std::int64_t step = k / A::kDepth;
      const T* w = weight.data + k * next;
      const T* after = k + 1 < depth ? w + next : nullptr;
      SumOf<T>* own = lanes + step % A::kLaneCount * stride;
      const auto add = [&](const typename A::Vector& right, std::int64_t j) {
        for (std::int64_t row = 0; row < rows; ++row) {
          SumOf<T>* sum = own + row * A::kLaneCount * stride + j;
          Store(A::Add(left[row * steps + step], right, Load(sum)), sum);
        }
      };
      std::int64_t j = 0;
      for (; j + kWidth <= columns; j += kWidth) {
        __builtin_prefetch(w + j + ahead, 0, 2);
        if constexpr (A::kDepth == 2) __builtin_prefetch(w + next + j + ahead, 0, 2);
        add(A::Read(w + j, after == nullptr ? nullptr : after + j), j);
      }
      if (j < columns) {
        T tail[2][kWidth] = {};
        const auto bytes = static_cast<std::size_t>(columns - j) * sizeof(T);
        std::memcpy(tail[0], w + j, bytes);
        if (after != nullptr) std::memcpy(tail[1], after + j, bytes);
        add(A::Read(tail[0], tail[1]), j);
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t j = 0; j < stride; j += kWidth) {
        SumOf<T>* sum = sums + row * stride + j;
        const SumOf<T>* own = lanes + row * A::kLaneCount * stride + j;
        Store(Load(sum) + AddLanesAcross<T>(own, stride), sum);
      }
    }
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_ACROSS_H_
