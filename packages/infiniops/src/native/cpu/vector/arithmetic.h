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
T Subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}

/// No operator subtracts bools; a function for every type needs it.
inline Bool Subtract(Bool a, Bool b) {
  return {static_cast<std::uint8_t>((a.byte != 0) != (b.byte != 0))};
}

template <typename Real>
Complex<Real> Subtract(Complex<Real> a, Complex<Real> b) {
  return {a.re - b.re, a.im - b.im};
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

/// Scales by the larger part of `b`, so that no square overflows.
template <typename Real>
Complex<Real> Divide(Complex<Real> a, Complex<Real> b) {
  const bool swap = (b.re < 0 ? -b.re : b.re) < (b.im < 0 ? -b.im : b.im);
  const Real large = swap ? b.im : b.re;
  const Real ratio = (swap ? b.re : b.im) / large;
  const Real size = large + (swap ? b.re : b.im) * ratio;
  if (swap) return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
  return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
}

/// `a` to the power `b`, wrapping around; a negative power is 0 but for 1 and -1.
template <typename T>
T IntegerPower(T a, T b) {
  if (b < 0) {
    if (a == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (a == -1) return static_cast<T>((b & 1) != 0 ? -1 : 1);
    }
    return 0;
  }
  Wrapping<T> base = static_cast<Wrapping<T>>(a);
  Wrapping<T> result = 1;
  for (auto rest = static_cast<std::make_unsigned_t<T>>(b); rest != 0;
       rest = static_cast<decltype(rest)>(rest >> 1)) {
    if ((rest & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ARITHMETIC_H_
