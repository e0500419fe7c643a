// Division of integers that rounds down.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_DIVISION_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_DIVISION_H_

#include "native/cpu/contents.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Throws before anything is written when an integer of the second input is zero.
template <class Task>
void CheckDivisors(const char* op, const Task& task) {
  const auto size = static_cast<std::int64_t>(rt::DataTypeSize(task.dtype));
  bool zero = false;
  ForEachRun(task.loop,
             [&](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
               const std::int64_t distinct = strides[2] == 0 ? 1 : count;
               bool found = false;
               const auto scan = [&]<typename T>(Type<T>) {
                 for (std::int64_t i = 0; i < distinct; ++i) {
                   T value;
                   std::memcpy(&value, pointers[2] + i * strides[2], sizeof(value));
                   found |= value == 0;
                 }
               };
               switch (size) {
                 case 1:
                   scan(Type<std::uint8_t>());
                   break;
                 case 2:
                   scan(Type<std::uint16_t>());
                   break;
                 case 4:
                   scan(Type<std::uint32_t>());
                   break;
                 default:
                   scan(Type<std::uint64_t>());
               }
               if (found) __atomic_store_n(&zero, true, __ATOMIC_RELAXED);
             });
  if (zero) ThrowZeroDivisor(op);
}

/// Python's // of integers; the least one divided by -1 wraps around to itself.
template <typename T>
T FloorDivide(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - static_cast<T>(quotient * b != a && (a < 0) != (b < 0)));
  } else {
    return static_cast<T>(a / b);
  }
}

/// Python's % of integers.
template <typename T>
T Remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  } else {
    return static_cast<T>(a % b);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_DIVISION_H_
