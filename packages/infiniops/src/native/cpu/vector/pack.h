// Copies of matrix operands in the order in which tiles read them.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "native/cpu/vector/matrix.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// A matrix whose strides count elements.
template <typename T>
struct Strided {
  const T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;

  const T* At(std::int64_t row, std::int64_t column) const {
    return data + row * row_stride + column * column_stride;
  }
};

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

/// Interleaves the low (`kHalf` 0) or high (1) halves of `a` and `b`.
template <int kHalf, typename Vector, std::size_t... kLane>
Vector InterleaveHalves(Vector a, Vector b, std::index_sequence<kLane...>) {
  constexpr std::size_t kSize = sizeof...(kLane);
  return __builtin_shufflevector(
      a, b, (kLane / 2 + kHalf * (kSize / 2) + (kLane % 2 == 0 ? 0 : kSize))...);
}

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
  // Each round interleaves the first half of the elements with the second: log2(kCount) of them
  // transpose.
#pragma GCC unroll 4
  for (int round = 1; round < kCount; round *= 2) {
    constexpr auto kLaneNumbers = std::make_index_sequence<kRows>();
    Vector next[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      next[2 * i] = InterleaveHalves<0>(vectors[i], vectors[i + kCount / 2], kLaneNumbers);
      next[2 * i + 1] = InterleaveHalves<1>(vectors[i], vectors[i + kCount / 2], kLaneNumbers);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) vectors[i] = next[i];
  }
  constexpr std::size_t kRowBytes = kCount * sizeof(T);
#pragma GCC unroll 32
  for (int row = 0; row < kRows; ++row) {
    std::memcpy(to + row * to_stride,
                reinterpret_cast<const char*>(vectors) + static_cast<std::size_t>(row) * kRowBytes,
                kRowBytes);
  }
}

/// Copies `rows` x `columns` elements, the rows of a column side by side in `from`, so that each
/// row is contiguous. Whole parts of `kBytes` are transposed in registers, the rest in smaller
/// ones.
template <typename T, int kBytes>
void PackTransposed(const Strided<T>& from, std::int64_t rows, std::int64_t columns, T* to,
                    std::int64_t to_stride) {
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
        TransposePart<T, kBytes>(from.At(r, column), from.column_stride,
                                 to + r * to_stride + column, to_stride);
      }
    }
  }
  const auto pack_rest = [&](std::int64_t row, std::int64_t row_end, std::int64_t column) {
    const Strided<T> rest = {from.At(row, column), from.row_stride, from.column_stride};
    T* target = to + row * to_stride + column;
    if constexpr (kBytes > 16) {
      PackTransposed<T, 16>(rest, row_end - row, columns - column, target, to_stride);
    } else {
      for (std::int64_t i = 0; i < row_end - row; ++i) {
        for (std::int64_t j = 0; j < columns - column; ++j) {
          target[i * to_stride + j] = *rest.At(i, j);
        }
      }
    }
  };
  pack_rest(0, whole_rows, whole_columns);
  pack_rest(whole_rows, rows, 0);
}

/// Copies `rows` x `columns` elements so that each row is contiguous, `to_stride` elements apart,
/// and fills up its last step with zeros.
template <typename T>
void PackRows(const Strided<T>& from, std::int64_t rows, std::int64_t columns, T* to,
              std::int64_t to_stride) {
  const std::int64_t padded = WholeSteps<T>(columns);
  for (std::int64_t row = 0; row < rows && columns < padded; ++row) {
    for (std::int64_t column = columns; column < padded; ++column)
      to[row * to_stride + column] = {};
  }
  if (from.column_stride == 1) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * to_stride, from.At(row, 0),
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
    return;
  }
  if (from.row_stride == 1) {
    PackTransposed<T, kTransposedBytes>(from, rows, columns, to, to_stride);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      to[row * to_stride + column] = *from.At(row, column);
    }
  }
}

/// Packs rows, at most `kMaxTileRows`, whose columns are contiguous: interleaved by steps, widened
/// to the operand's type, the last step filled up with zeros.
template <typename T>
void PackStrip(const T* from, std::int64_t row_stride, std::int64_t rows, std::int64_t depth,
               OperandOf<T>* to) {
  constexpr std::int64_t kStep = Arithmetic<T>::kStep;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* values = from + row * row_stride;
    OperandOf<T>* target = to + row * kStep;
    std::int64_t k = 0;
    for (; k + kStep <= depth; k += kStep) {
      const auto step = Arithmetic<T>::Read(values + k);
      std::memcpy(target + k * rows, &step, sizeof(step));
    }
    if (k < depth) {
      T tail[kStep] = {};
      std::memcpy(tail, values + k, static_cast<std::size_t>(depth - k) * sizeof(T));
      const auto step = Arithmetic<T>::Read(tail);
      std::memcpy(target + k * rows, &step, sizeof(step));
    }
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_
