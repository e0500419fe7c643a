// Integers in tensors that say where to read or write, as kernels read them.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_INDICES_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_INDICES_H_

#include <atomic>

#include "native/cpu/indices.h"
#include "native/cpu/vector/elementwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Calls `visitor(Type<T>())` with the type of `indices`.
template <typename Visitor>
void VisitIndexType(const Indices& indices, Visitor visitor) {
  if (indices.wide) {
    visitor(Type<std::int64_t>());
  } else {
    visitor(Type<std::int32_t>());
  }
}

/// Whether `count` values, `kAdjacent` or `stride` elements apart, are at least `least` and at most
/// `greatest`, which is no less.
template <bool kAdjacent, typename T>
bool AreInside(const T* values, std::int64_t stride, std::int64_t count, std::int64_t least,
               std::int64_t greatest) {
  const auto range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  std::uint64_t outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int64_t>(values[kAdjacent ? i : i * stride]);
    outside |= static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least) > range;
  }
  return outside == 0;
}

/// `CheckIndices` on several threads, for many indices.
inline void CheckManyIndices(const char* op, const char* name, const Indices& indices,
                             std::int64_t least, std::int64_t greatest, const char* range) {
  bool inside = false;
  if (indices.rows.rank == 1 && least <= greatest) {
    const std::int64_t stride = indices.rows.strides[0];
    std::atomic<bool> all = true;
    VisitIndexType(indices, [&]<typename T>(Type<T>) {
      const T* values = reinterpret_cast<const T*>(indices.rows.data);
      rt::ParallelFor(indices.rows.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
        const T* first = values + begin * stride;
        const bool good = stride == 1
                              ? AreInside<true>(first, 1, end - begin, least, greatest)
                              : AreInside<false>(first, stride, end - begin, least, greatest);
        if (!good) all.store(false, std::memory_order_relaxed);
      });
    });
    inside = all;
  }
  // Finds the first one outside.
  if (!inside) CheckIndices(op, name, indices, least, greatest, range);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_INDICES_H_
