// Copies of matrix operands in the order in which tiles read them.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PACK_H_

#include <cstdint>
#include <cstring>

#include "native/cpu/vector/matrix.h"
#include "native/cpu/vector/transpose.h"

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
    CopyTransposed(from.data, from.column_stride, rows, columns, to, to_stride);
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
