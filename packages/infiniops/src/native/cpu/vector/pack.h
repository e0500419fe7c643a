// Copies of matrix operands in the order in which tiles read them.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

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

/// 16 bytes of elements that are only moved.
template <typename T>
struct MovedOf;
template <>
struct MovedOf<double> {
  using type = std::uint64_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<float> {
  using type = std::uint32_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<Float16> {
  using type = std::uint16_t __attribute__((vector_size(16)));
};
template <>
struct MovedOf<BFloat16> {
  using type = std::uint16_t __attribute__((vector_size(16)));
};

/// One step of a transposition: interleaves the halves of the vectors that are `distance` apart.
template <typename Vector, int kSize>
inline void Interleave(Vector (&rows)[kSize]) {
  Vector next[kSize];
#pragma GCC unroll 8
  for (int i = 0; i < kSize / 2; ++i) {
    const Vector a = rows[i];
    const Vector b = rows[i + kSize / 2];
    if constexpr (kSize == 2) {
      next[0] = __builtin_shufflevector(a, b, 0, 2);
      next[1] = __builtin_shufflevector(a, b, 1, 3);
    } else if constexpr (kSize == 4) {
      next[2 * i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    } else {
      next[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i) rows[i] = next[i];
}

/// Copies the transpose of a square of 16 bytes a side: `from` has its columns `from_stride` apart
/// and its rows contiguous, in `to` it is the other way round.
template <typename T>
void TransposeSquare(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  using Vector = typename MovedOf<T>::type;
  constexpr int kSize = 16 / sizeof(T);
  Vector rows[kSize];
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Vector));
  // log2(kSize) perfect shuffles of the whole square transpose it.
#pragma GCC unroll 4
  for (int step = 1; step < kSize; step *= 2) Interleave<Vector, kSize>(rows);
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof(Vector));
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
  std::int64_t whole_rows = 0;
  std::int64_t whole_columns = 0;
  if (from.row_stride == 1) {
    constexpr std::int64_t kSize = 16 / sizeof(T);
    // Lines of the source are read whole, several squares at a time.
    constexpr std::int64_t kLine = 64 / sizeof(T);
    whole_rows = rows / kSize * kSize;
    whole_columns = columns / kSize * kSize;
    for (std::int64_t row = 0; row < whole_rows; row += kLine) {
      const std::int64_t end = row + kLine < whole_rows ? row + kLine : whole_rows;
      for (std::int64_t column = 0; column < whole_columns; column += kSize) {
        for (std::int64_t r = row; r < end; r += kSize) {
          TransposeSquare(from.At(r, column), from.column_stride, to + r * to_stride + column,
                          to_stride);
        }
      }
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column) {
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
