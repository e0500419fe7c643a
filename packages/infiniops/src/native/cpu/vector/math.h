// Mathematical functions on vectors of floats, and the same names for a double.
//
// The polynomials are minimax fits of their own; ranges are reduced by exact steps, so every lane
// has the same result in every instruction set up to the rounding of fused products. Largest errors
// over all floats, in units of the last place: Exp 1.1, Log 0.8, Sin and Cos 2.2 (to |x| = 6400,
// libm above), Tanh 1.3, Erf 1.2, Power 0.51. Subnormal results are exact to
// their last place, NaN gives NaN. For a double, libm computes.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_MATH_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_MATH_H_

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Integers in lanes as wide as those of `Floats`: its bits, or the result of a comparison.
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
/// Half of the lanes, which fill a register once they are doubles.
inline constexpr int kHalfLanes = kLanes / 2;
using HalfFloats = float __attribute__((vector_size(kHalfLanes * sizeof(float))));
using HalfInts = std::int32_t __attribute__((vector_size(kHalfLanes * sizeof(std::int32_t))));
using Doubles = double __attribute__((vector_size(kHalfLanes * sizeof(double))));
using Longs = std::int64_t __attribute__((vector_size(kHalfLanes * sizeof(std::int64_t))));

/// Chooses the function for results that are rounded to bfloat16.
struct ForBFloat16 {};

/// `value` in every lane.
inline Floats Broadcast(float value) { return value - Floats{}; }
inline Doubles BroadcastDouble(double value) { return value - Doubles{}; }

inline Ints AsInts(Floats value) { return __builtin_bit_cast(Ints, value); }
inline Floats AsFloats(Ints value) { return __builtin_bit_cast(Floats, value); }

/// Whether any lane of a comparison's result is set.
inline bool Any(Ints mask) {
  Ints any = mask;
  std::int32_t lanes[kLanes];
  std::memcpy(lanes, &any, sizeof(any));
  std::int32_t found = 0;
  for (int i = 0; i < kLanes; ++i) found |= lanes[i];
  return found != 0;
}

inline Floats Abs(Floats x) { return AsFloats(AsInts(x) & 0x7fffffff); }
inline double Abs(double x) { return __builtin_fabs(x); }

/// `magnitude`, which has no sign, with the sign of `sign`.
inline Floats WithSign(Floats magnitude, Floats sign) {
  return AsFloats(AsInts(magnitude) | (AsInts(sign) & INT32_MIN));
}

/// The greater or lesser of each lane; `b` where either is NaN.
inline Floats GreaterOf(Floats a, Floats b) {
#if defined(__AVX512F__)
  return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
inline Floats LesserOf(Floats a, Floats b) {
#if defined(__AVX512F__)
  return _mm512_min_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

/// 1 / x for numbers that are normal, as the result is, within 1.5 units of the last place.
inline Floats Reciprocal(Floats x) {
#if defined(__AVX512F__)
  const Floats guess = _mm512_rcp14_ps(x);
  return MultiplyAdd(guess, _mm512_fnmadd_ps(x, guess, Floats{} + 1.0f), guess);
#else
  return 1.0f / x;
#endif
}
inline Floats Reciprocal(Floats x, ForBFloat16) {
#if defined(__AVX512F__)
  return _mm512_rcp14_ps(x);
#else
  return 1.0f / x;
#endif
}

inline Floats Sqrt(Floats x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#elif defined(__x86_64__)
  return _mm_sqrt_ps(x);
#elif defined(__aarch64__)
  return vsqrtq_f32(x);
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
inline double Sqrt(double x) { return __builtin_sqrt(x); }

/// e to the power x, for x from -110 to 110, as `value` times a power of two.
struct ScaledExp {
  /// The power of this number rounds to 0; so does its product with the number.
  static constexpr float kLeast = -109.0f;
  /// 1.5 * 2^23: a sum with it rounds to an integer, which stands in its low bits.
  static constexpr float kMagic = 12582912.0f;

  explicit ScaledExp(Floats x) {
    shifted = MultiplyAdd(x, Broadcast(0x1.715476p+0f), Broadcast(kMagic));
    const Floats n = shifted - kMagic;
    Floats r = MultiplyAdd(n, Broadcast(-0x1.62e4p-1f), x);
    r = MultiplyAdd(n, Broadcast(-0x1.7f7d1cp-20f), r);
    Floats p = Broadcast(0x1.6dbc64p-10f);
    p = MultiplyAdd(p, r, Broadcast(0x1.124148p-7f));
    p = MultiplyAdd(p, r, Broadcast(0x1.555454p-5f));
    p = MultiplyAdd(p, r, Broadcast(0x1.555486p-3f));
    p = MultiplyAdd(p, r, Broadcast(0.5f));
    value = MultiplyAdd(r * r, p, r) + 1.0f;
  }

  ScaledExp(Floats x, ForBFloat16) {
    shifted = MultiplyAdd(x, Broadcast(0x1.715476p+0f), Broadcast(kMagic));
    const Floats r = MultiplyAdd(shifted - kMagic, Broadcast(-0x1.62e43p-1f), x);
    Floats p = Broadcast(0x1.540de6p-5f);
    p = MultiplyAdd(p, r, Broadcast(0x1.57db2cp-3f));
    p = MultiplyAdd(p, r, Broadcast(0x1.00041cp-1f));
    p = MultiplyAdd(p, r, Broadcast(0x1.fffb7cp-1f));
    value = MultiplyAdd(p, r, Broadcast(1.0f));
  }

  /// `factor` times the power of two, rounded where that is subnormal.
  Floats Scale(Floats factor) const {
#if defined(__AVX512F__)
    return _mm512_scalef_ps(factor, shifted - kMagic);
#else
    // Two steps, since a power of two for a subnormal result is no float.
    const Ints exponent = AsInts(shifted) - AsInts(Broadcast(kMagic));
    const Ints half = exponent >> 1;
    const Floats scale = AsFloats((half + 127) << 23);
    return factor * scale * AsFloats((exponent - half + 127) << 23);
#endif
  }

  Floats value;
  Floats shifted;  // the exponent, plus `kMagic`
};

/// e to the power x.
inline Floats Exp(Floats x) {
  const ScaledExp power(LesserOf(Broadcast(89.0f), GreaterOf(Broadcast(ScaledExp::kLeast), x)));
  return power.Scale(power.value);
}
inline double Exp(double x) { return __builtin_exp(x); }

/// The natural logarithm.
inline Floats Log(Floats x) {
  const auto tiny = x < Broadcast(0x1p-126f);
  const Floats normal = tiny ? x * 0x1p23f : x;
  const Ints bits = AsInts(normal);
  const Ints exponent = (bits - 0x3f3504f3) >> 23;  // of a mantissa from sqrt(1/2) to sqrt(2)
  const Floats f = AsFloats(bits - (exponent << 23)) - 1.0f;
  const Floats n = __builtin_convertvector(exponent, Floats) - (tiny ? Broadcast(23.0f) : Floats{});
  Floats p = Broadcast(0x1.1b40e4p-4f);
  p = MultiplyAdd(p, f, Broadcast(-0x1.e2e918p-4f));
  p = MultiplyAdd(p, f, Broadcast(0x1.e6512ep-4f));
  p = MultiplyAdd(p, f, Broadcast(-0x1.fb434ep-4f));
  p = MultiplyAdd(p, f, Broadcast(0x1.2332b8p-3f));
  p = MultiplyAdd(p, f, Broadcast(-0x1.5562e2p-3f));
  p = MultiplyAdd(p, f, Broadcast(0x1.99a546p-3f));
  p = MultiplyAdd(p, f, Broadcast(-0x1.ffffeep-3f));
  p = MultiplyAdd(p, f, Broadcast(0x1.555546p-2f));
  const Floats square = f * f;
  Floats rest = MultiplyAdd(square * f, p, n * -0x1.bd0106p-13f);
  rest = MultiplyAdd(square, Broadcast(-0.5f), rest);
  Floats result = MultiplyAdd(n, Broadcast(0x1.63p-1f), f + rest);
  result = x == Broadcast(__builtin_inff()) ? x : result;
  result = x == Floats{} ? Broadcast(-__builtin_inff()) : result;
  const auto outside = (x < Floats{}) | (x != x);
  return outside ? Broadcast(__builtin_nanf("")) : result;
}
inline double Log(double x) { return __builtin_log(x); }

namespace internal {

/// Sine (`turn` 0) or cosine (1) of floats of magnitude 6400 at most.
inline Floats SineOf(Floats x, std::int32_t turn) {
  const Floats magic = Broadcast(12582912.0f);
  const Floats shifted = x * 0x1.45f306p-1f + magic;
  const Floats n = shifted - magic;
  // The parts of pi/2 have 11 bits and n has 12, so these products are exact.
  Floats r = x - n * 0x1.92p+0f;
  r = r - n * 0x1.fb4p-12f;
  r = r - n * 0x1.444p-24f;
  r = r - n * 0x1.68c234p-39f;
  const Ints quadrant = AsInts(shifted) + turn;
  const Floats square = r * r;
  Floats s = Broadcast(0x1.6ccbcep-19f);
  s = MultiplyAdd(s, square, Broadcast(-0x1.a00f6ap-13f));
  s = MultiplyAdd(s, square, Broadcast(0x1.111108p-7f));
  s = MultiplyAdd(s, square, Broadcast(-0x1.555556p-3f));
  s = MultiplyAdd(s * square, r, r);
  Floats c = Broadcast(-0x1.2500bp-22f);
  c = MultiplyAdd(c, square, Broadcast(0x1.a015c4p-16f));
  c = MultiplyAdd(c, square, Broadcast(-0x1.6c16cp-10f));
  c = MultiplyAdd(c, square, Broadcast(0x1.555556p-5f));
  c = MultiplyAdd(c * square, square, square * -0.5f) + 1.0f;
  const Floats value = (quadrant & 1) != 0 ? c : s;
  return AsFloats(AsInts(value) ^ ((quadrant & 2) << 30));
}

template <typename Scalar>
Floats SineOrLibm(Floats x, std::int32_t turn, Scalar scalar) {
  Floats result = SineOf(x, turn);
  const Ints large = ~(Abs(x) <= Broadcast(6400.0f));  // also NaN and infinities
  if (__builtin_expect(Any(large), 0)) {
    for (int i = 0; i < kLanes; ++i) {
      if (large[i] != 0) result[i] = scalar(x[i]);
    }
  }
  return result;
}

}  // namespace internal

inline Floats Sin(Floats x) {
  const Floats result =
      internal::SineOrLibm(x, 0, [](float value) { return __builtin_sinf(value); });
  return x == Floats{} ? x : result;  // keeps the sign of zero
}
inline double Sin(double x) { return __builtin_sin(x); }

inline Floats Cos(Floats x) {
  return internal::SineOrLibm(x, 1, [](float value) { return __builtin_cosf(value); });
}
inline double Cos(double x) { return __builtin_cos(x); }

/// The hyperbolic tangent.
inline Floats Tanh(Floats x) {
  const Floats size = Abs(x);
  const Floats square = x * x;
  Floats p = Broadcast(0x1.0a54ecp-9f);
  p = MultiplyAdd(p, square, Broadcast(-0x1.07ebaap-7f));
  p = MultiplyAdd(p, square, Broadcast(0x1.62b7e8p-6f));
  p = MultiplyAdd(p, square, Broadcast(-0x1.b9db22p-5f));
  p = MultiplyAdd(p, square, Broadcast(0x1.111004p-3f));
  p = MultiplyAdd(p, square, Broadcast(-0x1.555552p-2f));
  const Floats near = MultiplyAdd(p * square, x, x);
  const Floats far = WithSign(1.0f - 2.0f / (Exp(size + size) + 1.0f), x);
  // The sum above loses the sign of zero.
  return size > Broadcast(0.65f) ? far : WithSign(Abs(near), x);
}
inline double Tanh(double x) { return __builtin_tanh(x); }

/// The error function.
inline Floats Erf(Floats x) {
  const Floats square = x * x;
  Floats p = Broadcast(0x1.589470p-14f);
  p = MultiplyAdd(p, square, Broadcast(-0x1.a8fc6cp-11f));
  p = MultiplyAdd(p, square, Broadcast(0x1.54a49p-8f));
  p = MultiplyAdd(p, square, Broadcast(-0x1.b80b0ep-6f));
  p = MultiplyAdd(p, square, Broadcast(0x1.ce2de2p-4f));
  p = MultiplyAdd(p, square, Broadcast(-0x1.812742p-2f));
  p = MultiplyAdd(p, square, Broadcast(0x1.06eba8p-3f));
  const Floats near = MultiplyAdd(p, x, x);
  // 1 - exp(q(t) - t), where the exponent approximates the logarithm of erfc.
  const Floats size = Abs(x);
  const Floats t = size > Broadcast(4.0f) ? Broadcast(4.0f) : size;
  Floats q = Broadcast(-0x1.63d978p-21f);
  q = MultiplyAdd(q, t, Broadcast(-0x1.9db8d8p-17f));
  q = MultiplyAdd(q, t, Broadcast(0x1.9379eap-12f));
  q = MultiplyAdd(q, t, Broadcast(-0x1.070598p-8f));
  q = MultiplyAdd(q, t, Broadcast(0x1.968864p-6f));
  q = MultiplyAdd(q, t, Broadcast(-0x1.b9fb54p-4f));
  q = MultiplyAdd(q, t, Broadcast(-0x1.446accp-1f));
  q = MultiplyAdd(q, t, Broadcast(-0x1.090154p-3f));
  q = MultiplyAdd(q, t, Broadcast(0x1.41aa6ep-13f));
  const Floats far = WithSign(1.0f - Exp(q - t), x);
  const Floats result = size > Broadcast(0.925f) ? far : near;
  return x != x ? x : result;
}
inline double Erf(double x) { return __builtin_erf(x); }

/// The lower (`part` 0) or upper half of the lanes as doubles.
inline Doubles WidenHalf(Floats x, int part) {
  HalfFloats half;
  std::memcpy(&half, reinterpret_cast<const char*>(&x) + part * sizeof(half), sizeof(half));
  return __builtin_convertvector(half, Doubles);
}

/// The floats nearest to two halves.
inline Floats NarrowHalves(Doubles low, Doubles high) {
  const HalfFloats halves[2] = {__builtin_convertvector(low, HalfFloats),
                                __builtin_convertvector(high, HalfFloats)};
  Floats result;
  std::memcpy(&result, halves, sizeof(result));
  return result;
}

namespace internal {

/// |x| to the power y, for finite x but 0 and finite y.
inline Doubles PowerOf(Doubles x, Doubles y) {
  const Longs bits = __builtin_bit_cast(Longs, x) & INT64_MAX;
  const Longs exponent = (bits - 0x3fe6a09e667f3bcdLL) >> 52;
  const Doubles mantissa = __builtin_bit_cast(Doubles, bits - (exponent << 52));
  const Doubles f = (mantissa - 1.0) / (mantissa + 1.0);
  const Doubles square = f * f;
  // log2(m) = 2 / ln 2 * atanh(f)
  Doubles p = BroadcastDouble(1.0 / 13);
  for (const double c : {1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) {
    p = MultiplyAdd(p, square, BroadcastDouble(c));
  }
  const HalfInts small = __builtin_convertvector(exponent, HalfInts);
  const Doubles log2 = MultiplyAdd(p * f, BroadcastDouble(2.88539008177792681472),
                                   __builtin_convertvector(small, Doubles));
  Doubles t = y * log2;
  t = t > 200.0 ? BroadcastDouble(200.0) : t;
  t = t < -200.0 ? BroadcastDouble(-200.0) : t;
  const Doubles magic = BroadcastDouble(6755399441055744.0);  // 1.5 * 2^52
  const Doubles shifted = t + magic;
  const Doubles r = (t - (shifted - magic)) * 0.69314718055994530942;
  Doubles e = BroadcastDouble(1.0 / 40320);
  for (const double c : {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    e = MultiplyAdd(e, r, BroadcastDouble(c));
  }
  const Longs n = __builtin_bit_cast(Longs, shifted) - __builtin_bit_cast(Longs, magic);
  return __builtin_bit_cast(Doubles, __builtin_bit_cast(Longs, e) + (n << 52));
}

}  // namespace internal

/// x to the power y, with the special cases of C's pow.
inline Floats Power(Floats x, Floats y) {
  Floats result = NarrowHalves(internal::PowerOf(WidenHalf(x, 0), WidenHalf(y, 0)),
                               internal::PowerOf(WidenHalf(x, 1), WidenHalf(y, 1)));
  const Floats size = Abs(y);
  const Floats most = Broadcast(16777216.0f);  // above, every float is an even integer
  const Floats bounded = size < most ? y : Floats{};
  const Ints whole = __builtin_convertvector(bounded, Ints);
  const auto integer = __builtin_convertvector(whole, Floats) == bounded;
  const Ints odd = (whole & 1) != 0;
  const auto negative = x < Floats{};
  result = (negative & odd) ? -result : result;
  result = (negative & ~integer) ? Broadcast(__builtin_nanf("")) : result;
  const Floats magnitude = Abs(x);
  const Floats infinity = Broadcast(__builtin_inff());
  const Ints special = (magnitude == Floats{}) | ~(magnitude < infinity) | ~(size < infinity);
  if (__builtin_expect(Any(special), 0)) {
    for (int i = 0; i < kLanes; ++i) {
      if (special[i] != 0) result[i] = __builtin_powf(x[i], y[i]);
    }
  }
  return result;
}
inline double Power(double x, double y) { return __builtin_pow(x, y); }

/// Quotient rounded down, and the remainder with the divisor's sign: Python's // and %.
inline double FloorDivide(double a, double b) {
  if (b == 0) return a / b;
  const double rest = __builtin_fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return __builtin_copysign(0.0, a / b);
  const double whole = __builtin_floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}
inline double Remainder(double a, double b) {
  const double rest = __builtin_fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

namespace internal {

/// The same for floats whose quotient is below 2^26, which double holds exactly.
template <bool kQuotient>
Doubles FloorDivideHalf(Doubles a, Doubles b) {
  const HalfInts whole = __builtin_convertvector(a / b, HalfInts);
  const Doubles quotient = __builtin_convertvector(whole, Doubles);
  const Doubles rest = a - quotient * b;
  const auto wrong = (rest != 0.0) & ((rest < 0.0) ^ (b < 0.0));
  if constexpr (kQuotient) return wrong ? quotient - 1.0 : quotient;
  return wrong ? rest + b : rest;
}

template <bool kQuotient>
Floats FloorDivideFloats(Floats a, Floats b) {
  Floats result = NarrowHalves(FloorDivideHalf<kQuotient>(WidenHalf(a, 0), WidenHalf(b, 0)),
                               FloorDivideHalf<kQuotient>(WidenHalf(a, 1), WidenHalf(b, 1)));
  const Floats ratio = a / b;
  result = result == Floats{} ? WithSign(Floats{}, kQuotient ? ratio : a) : result;
  // Large, infinite and undefined quotients, and those that an infinite divisor makes zero.
  const Ints special =
      ~((Abs(ratio) < Broadcast(0x1p26f)) & (Abs(b) < Broadcast(__builtin_inff())));
  if (__builtin_expect(Any(special), 0)) {
    for (int i = 0; i < kLanes; ++i) {
      if (special[i] == 0) continue;
      const auto wide_a = static_cast<double>(a[i]);
      const auto wide_b = static_cast<double>(b[i]);
      result[i] =
          static_cast<float>(kQuotient ? FloorDivide(wide_a, wide_b) : Remainder(wide_a, wide_b));
    }
  }
  return result;
}

}  // namespace internal

inline Floats FloorDivide(Floats a, Floats b) { return internal::FloorDivideFloats<true>(a, b); }
inline Floats Remainder(Floats a, Floats b) { return internal::FloorDivideFloats<false>(a, b); }

/// The larger and the smaller value; NaN where an operand is NaN.
template <typename V>
V Maximum(V a, V b) {
  const V larger = a > b ? a : b;  // b where either is NaN
  return a != a ? a : larger;
}
template <typename V>
V Minimum(V a, V b) {
  const V smaller = a < b ? a : b;
  return a != a ? a : smaller;
}
inline Floats Maximum(Floats a, Floats b) { return a != a ? a : GreaterOf(a, b); }
inline Floats Minimum(Floats a, Floats b) { return a != a ? a : LesserOf(a, b); }

/// The greatest lane; NaN where it counts for nothing against a number is not promised.
inline float GreatestLane(Floats value) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(value);
#else
  float greatest = value[0];
  for (int lane = 1; lane < kLanes; ++lane) {
    greatest = value[lane] > greatest ? value[lane] : greatest;
  }
  return greatest;
#endif
}

/// The sum of the lanes, in an order that depends on the instruction set alone.
inline float SumOfLanes(Floats value) { return SumLanes(value, value, value, value)[0]; }

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_MATH_H_
