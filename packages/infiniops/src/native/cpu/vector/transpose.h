// Transposing elements in registers.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Interleaves the low (`kHalf` 0) or high (1) halves of `a` and `b`.
template <int kHalf, typename Vector, std::size_t... kLane>
Vector InterleaveHalves(Vector a, Vector b, std::index_sequence<kLane...>) {
  constexpr std::size_t kSize = sizeof...(kLane);
  return __builtin_shufflevector(
      a, b, (kLane / 2 + kHalf * (kSize / 2) + (kLane % 2 == 0 ? 0 : kSize))...);
}

/// Interleaves the first half of the elements of all vectors with the second, `kRounds` times: an
/// element's number, seen in binary, is turned by that many digits.
template <int kRounds, typename Element, typename Vector, int kCount>
void InterleaveAll(Vector (&vectors)[kCount]) {
  static_assert(kCount % 2 == 0);
  constexpr auto kLaneNumbers = std::make_index_sequence<sizeof(Vector) / sizeof(Element)>();
#pragma GCC unroll 6
  for (int round = 0; round < kRounds; ++round) {
    Vector next[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      next[2 * i] = InterleaveHalves<0>(vectors[i], vectors[i + kCount / 2], kLaneNumbers);
      next[2 * i + 1] = InterleaveHalves<1>(vectors[i], vectors[i + kCount / 2], kLaneNumbers);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) vectors[i] = next[i];
  }
}

/// The binary digits of `power`, a power of two, less one.
constexpr int Log2(int power) { return std::bit_width(static_cast<unsigned>(power)) - 1; }

/// Transposes in place a matrix of `kLanes` rows of `kCount` numbers, which lie one after another,
/// to `kCount` rows of `kLanes`. Only moves lanes, whatever their bits mean.
template <int kCount>
void Transpose(Floats (&vectors)[kCount]) {
  InterleaveAll<Log2(kLanes), float>(vectors);
}

/// A vector of `kBytes` bytes of elements of `kSize` bytes that are only moved.
template <int kSize, int kBytes>
struct MovedOf;
template <>
struct MovedOf<8, 16> {
  using type = std::uint64_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<8, 64> {
  using type = std::uint64_t __attribute__((vector_size(64)));
};
template <>
struct MovedOf<4, 16> {
  using type = std::uint32_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<4, 64> {
  using type = std::uint32_t __attribute__((vector_size(64)));
};
template <>
struct MovedOf<2, 16> {
  using type = std::uint16_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<2, 64> {
  using type = std::uint16_t __attribute__((vector_size(64)));
};

/// Bytes of the vectors in which a matrix is transposed, and how many of them at a time.
#if defined(__AVX512F__)
inline constexpr int kTransposedBytes = 64;
#else
inline constexpr int kTransposedBytes = 16;
#endif
template <typename T, int kBytes>
inline constexpr int kTransposedCount = kBytes == 64 ? 16 : kBytes / static_cast<int>(sizeof(T));

/// Copies the transpose of a part: `from` has its columns, `kTransposedCount` of them,
/// `from_stride` apart and `kBytes` of each contiguous; in `to` it is the other way round.
template <typename T, int kBytes>
void TransposePart(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  using Vector = typename MovedOf<sizeof(T), kBytes>::type;
  constexpr int kCount = kTransposedCount<T, kBytes>;
  constexpr int kRows = kBytes / static_cast<int>(sizeof(T));
  Vector vectors[kCount];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) std::memcpy(&vectors[i], from + i * from_stride, kBytes);
  InterleaveAll<Log2(kCount), T>(vectors);
  constexpr std::size_t kRowBytes = kCount * sizeof(T);
#pragma GCC unroll 32
  for (int row = 0; row < kRows; ++row) {
    std::memcpy(to + row * to_stride,
                reinterpret_cast<const char*>(vectors) + static_cast<std::size_t>(row) * kRowBytes,
                kRowBytes);
  }
}

/// Copies `rows` x `columns` elements of 2, 4 or 8 bytes, whose columns are contiguous in `from`,
/// `from_stride` elements apart, and whose rows are in `to`. Whole parts of `kBytes` are transposed
/// in registers, the rest in smaller ones.
template <typename T, int kBytes = kTransposedBytes>
void CopyTransposed(const T* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, T* to, std::int64_t to_stride) {
  constexpr std::int64_t kPartRows = kBytes / static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kPartColumns = kTransposedCount<T, kBytes>;
  // Lines of the source are read whole, several parts at a time where those are smaller.
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t whole_rows = rows / kPartRows * kPartRows;
  const std::int64_t whole_columns = columns / kPartColumns * kPartColumns;
  for (std::int64_t row = 0; row < whole_rows; row += kLine) {
    const std::int64_t end = row + kLine < whole_rows ? row + kLine : whole_rows;
    for (std::int64_t column = 0; column < whole_columns; column += kPartColumns) {
      for (std::int64_t r = row; r < end; r += kPartRows) {
        TransposePart<T, kBytes>(from + column * from_stride + r, from_stride,
                                 to + r * to_stride + column, to_stride);
      }
    }
  }
  const auto copy_rest = [&](std::int64_t row, std::int64_t end, std::int64_t column) {
    const T* source = from + column * from_stride + row;
    T* target = to + row * to_stride + column;
    if constexpr (kBytes > 16) {
      CopyTransposed<T, 16>(source, from_stride, end - row, columns - column, target, to_stride);
    } else {
      for (std::int64_t i = 0; i < end - row; ++i) {
        for (std::int64_t j = 0; j < columns - column; ++j) {
          target[i * to_stride + j] = source[j * from_stride + i];
        }
      }
    }
  };
  copy_rest(0, whole_rows, whole_columns);
  copy_rest(whole_rows, rows, 0);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_TRANSPOSE_H_
