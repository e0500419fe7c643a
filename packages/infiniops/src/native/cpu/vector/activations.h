// Activations of neural networks on vectors of floats, and the same names for a double.
//
// Largest errors over all floats, in units of the last place: Sigmoid 2.5, Silu 3.7 (2.9 with
// AVX-512). Functions that take `ForBFloat16` have a relative error of 2^-13.7 at most: a result
// that is then rounded to bfloat16 is off by 0.51 of its last place, instead of 0.5, in two thirds
// of the time.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ACTIVATIONS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ACTIVATIONS_H_

#include "native/cpu/vector/math.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

#if defined(__AVX512F__)
/// 1 / (1 + exp(-x)) as `value` times two to the power `exponent`, which is 1 / (2^-n + r) for
/// exp(-x) = r * 2^n: nothing overflows or is subnormal, and no lane has to be chosen.
struct ScaledSigmoid {
  /// From here down and up, the result counts as that of these numbers: 0 and 1.
  static constexpr float kLeast = -110.0f;
  static constexpr float kMost = 80.0f;

  template <class... For>
  explicit ScaledSigmoid(Floats x, For... rounding) : bounded(GreaterOf(Broadcast(kLeast), x)) {
    const ScaledExp power(-LesserOf(Broadcast(kMost), bounded), rounding...);
    exponent = ScaledExp::kMagic - power.shifted;
    const Floats sum = _mm512_scalef_ps(Broadcast(1.0f), exponent) + power.value;
    value = Reciprocal(sum, rounding...);
  }

  Floats bounded;  // x, or `kLeast`
  Floats value;
  Floats exponent;
};
#endif

/// 1 / (1 + exp(-x)), by a power that does not overflow; with `ForBFloat16` as that allows.
template <class... For>
Floats Sigmoid(Floats x, For... rounding) {
#if defined(__AVX512F__)
  const ScaledSigmoid scaled(x, rounding...);
  return _mm512_scalef_ps(scaled.value, scaled.exponent);
#else
  const ScaledExp scaled(GreaterOf(Broadcast(ScaledExp::kLeast), -Abs(x)), rounding...);
  const Floats power = scaled.Scale(scaled.value);
  return (x < Floats{} ? power : Broadcast(1.0f)) / (1.0f + power);
#endif
}
inline double Sigmoid(double x) {
  const double power = Exp(-Abs(x));
  return (x < 0 ? power : 1) / (1 + power);
}

/// x times its sigmoid; with `ForBFloat16` as that allows.
template <class... For>
Floats Silu(Floats x, For... rounding) {
#if defined(__AVX512F__)
  const ScaledSigmoid scaled(x, rounding...);
  const Floats result = _mm512_scalef_ps(scaled.bounded * scaled.value, scaled.exponent);
  const __m512i minus_infinity_gives_nan = _mm512_set1_epi32(3 << 16);
  return _mm512_fixupimm_ps(result, x, minus_infinity_gives_nan, 0);
#else
  const ScaledExp scaled(GreaterOf(Broadcast(ScaledExp::kLeast), -Abs(x)), rounding...);
  const Floats power = scaled.Scale(scaled.value);
  // A small power alone would be subnormal, and lose what x gives back.
  const Floats product =
      x < Broadcast(ScaledExp::kLeast) ? x * power : scaled.Scale(x * scaled.value);
  return (x < Floats{} ? product : x) / (1.0f + power);
#endif
}
inline double Silu(double x) { return x * Sigmoid(x); }

/// The error function as a fraction: of |x| up to 4, `x` times `numerator` by `denominator`, within
/// 3.4e-7, which is worse than `Erf` is, at less than half of its work.
struct ErfFraction {
  explicit ErfFraction(Floats value) {
    x = LesserOf(Broadcast(4.0f), GreaterOf(Broadcast(-4.0f), value));
    const Floats square = x * x;
    Floats p = Broadcast(0x1.0b01f6p-19f);
    p = MultiplyAdd(p, square, Broadcast(0x1.2a22f4p-12f));
    p = MultiplyAdd(p, square, Broadcast(0x1.fb6256p-9f));
    p = MultiplyAdd(p, square, Broadcast(0x1.b2b188p-5f));
    p = MultiplyAdd(p, square, Broadcast(0x1.8bc84p-3f));
    numerator = MultiplyAdd(p, square, Broadcast(0x1.20dd74p+0f));
    Floats q = Broadcast(0x1.3a064p-15f);
    q = MultiplyAdd(q, square, Broadcast(0x1.3607ap-10f));
    q = MultiplyAdd(q, square, Broadcast(0x1.f17e7p-7f));
    q = MultiplyAdd(q, square, Broadcast(0x1.d7fac6p-4f));
    q = MultiplyAdd(q, square, Broadcast(0x1.025acp-1f));
    denominator = MultiplyAdd(q, square, Broadcast(1.0f));
  }

  Floats x;  // what it was made of, or the nearer of -4 and 4
  Floats numerator;
  Floats denominator;
};

inline Floats Erf(Floats x, ForBFloat16) {
  const ErfFraction erf(x);
  const Floats value = erf.x * erf.numerator * Reciprocal(erf.denominator, ForBFloat16());
  return LesserOf(Broadcast(1.0f), GreaterOf(Broadcast(-1.0f), value));
}

/// x times the distribution function of the normal distribution; with `ForBFloat16` as that allows.
template <class... For>
Floats Gelu(Floats x, For... rounding) {
  const ErfFraction erf(x * 0.70710678f);
  // 1 + erf, as one fraction, whose estimated denominator costs no digits where it is small.
  const Floats sum =
      MultiplyAdd(erf.x, erf.numerator, erf.denominator) * Reciprocal(erf.denominator, rounding...);
  return 0.5f * x * (erf.x > Broadcast(-4.0f) ? GreaterOf(sum, Floats{}) : Floats{});
}
inline double Gelu(double x) { return 0.5 * x * (1 + Erf(x * 0.70710678118654752440)); }

/// The same by the hyperbolic tangent; with `ForBFloat16` as that allows.
template <class... For>
Floats GeluTanh(Floats x, For... rounding) {
  // (1 + tanh(y)) / 2 is the sigmoid of 2 y.
  const Floats twice = 1.59576912f * MultiplyAdd(x * x * x, Broadcast(0.044715f), x);
  return x * Sigmoid(twice, rounding...);
}
inline double GeluTanh(double x) {
  const double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + Tanh(inner));
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ACTIVATIONS_H_
