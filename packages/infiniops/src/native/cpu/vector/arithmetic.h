// Arithmetic on every element type, with the meaning that tensors give it:
// integers wrap around, the sum of bools is "or" and their product "and".
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ARITHMETIC_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ARITHMETIC_H_

#include <type_traits>

#include "native/cpu/vector/dtype.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// The unsigned type in which integers of type `T` wrap around without
/// undefined behaviour.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <typename T>
T Add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}

inline Bool Add(Bool a, Bool b) { return {static_cast<std::uint8_t>((a.byte | b.byte) != 0)}; }

template <typename Real>
Complex<Real> Add(Complex<Real> a, Complex<Real> b) {
  return {a.re + b.re, a.im + b.im};
}

template <typename T>
T Multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else {
    return a * b;
  }
}

inline Bool Multiply(Bool a, Bool b) {
  return {static_cast<std::uint8_t>((a.byte != 0) & (b.byte != 0))};
}

template <typename Real>
Complex<Real> Multiply(Complex<Real> a, Complex<Real> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ARITHMETIC_H_
