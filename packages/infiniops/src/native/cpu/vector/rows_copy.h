// Copies of rows, whatever their elements are: only an element's size matters.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_COPY_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_COPY_H_

#include <cstring>

#include "native/cpu/strided_loop.h"
#include "native/cpu/vector/dtype.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Elements per thread from which copying is worth splitting.
inline constexpr std::int64_t kCopyGrain = 32768;

/// Copies row `from_row` of `from` to row `to_row` of `to`; both have the same length and lie
/// apart.
template <typename T>
void CopyRow(const Rows& from, std::int64_t from_row, const Rows& to, std::int64_t to_row) {
  const T* source = reinterpret_cast<const T*>(from.data) + from.Offset(from_row);
  T* target = reinterpret_cast<T*>(to.data) + to.Offset(to_row);
  if (from.inner_stride == 1 && to.inner_stride == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(to.length) * sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < to.length; ++i) {
    target[i * to.inner_stride] = source[i * from.inner_stride];
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_COPY_H_
