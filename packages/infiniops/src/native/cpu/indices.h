// Integers in tensors that say where to read or write: positions, lengths, slots.
#ifndef INFINI_OPS_NATIVE_CPU_INDICES_H_
#define INFINI_OPS_NATIVE_CPU_INDICES_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// The elements of an int32 or int64 tensor in row-major order.
struct Indices {
  Rows rows;  // each of one element
  bool wide;  // int64

  /// The element at `index`.
  INFINI_OPS_INLINE std::int64_t Get(std::int64_t index) const {
    const std::int64_t offset = rows.Offset(index);
    if (wide) return reinterpret_cast<const std::int64_t*>(rows.data)[offset];
    return reinterpret_cast<const std::int32_t*>(rows.data)[offset];
  }
};

/// Throws `Error` (invalid argument) unless every element of `indices` is at least `least` and at
/// most `greatest`. Tasks call it before they write; `range` says what the bounds mean.
void CheckIndices(const char* op, const char* name, const Indices& indices, std::int64_t least,
                  std::int64_t greatest, const char* range);

/// Throws `Error` (invalid argument) unless each of the `count` values is from 0 to 1.
void CheckShares(const char* op, const char* name, const float* values, std::int64_t stride,
                 std::int64_t count);

#ifndef INFINI_OPS_CPU_ISA

/// Describes the elements of `view`, which is int32 or int64.
Indices MakeIndices(const char* op, const TensorView& view);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_INDICES_H_
