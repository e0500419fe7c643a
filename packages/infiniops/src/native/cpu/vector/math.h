// Functions of vectors of floats, with the error that each is tested to keep.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_MATH_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_MATH_H_

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// As many integers as `Floats` has lanes; a comparison of `Floats` gives one, 0 or -1 a lane.
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

/// Returns a vector of `value` in every lane.
inline Floats Broadcast(float value) { return value - Floats{}; }

/// Returns e^x, at most 2 ulp off where the result is normal. Results too small for a normal float
/// are off by at most its last place; what overflows is infinite; NaN stays NaN.
///
/// x = n ln 2 + r, with Cephes' polynomial for e^r (S. L. Moshier, expf.c).
inline Floats Exp(Floats x) {
  const Floats least = Broadcast(-104.0f);  // rounds to 0
  const Floats most = Broadcast(89.0f);     // overflows
  x = x < least ? least : x;                // NaN compares false and stays
  x = x > most ? most : x;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  const Floats shifted = MultiplyAdd(x, Broadcast(1.44269504f), Broadcast(12582912.0f));
  const Floats n = shifted - Broadcast(12582912.0f);
  Floats r = MultiplyAdd(n, Broadcast(-0.693359375f), x);  // 9 bits: the product is exact
  r = MultiplyAdd(n, Broadcast(2.12194440e-4f), r);
  Floats y = Broadcast(1.9875691500e-4f);
  y = MultiplyAdd(y, r, Broadcast(1.3981999507e-3f));
  y = MultiplyAdd(y, r, Broadcast(8.3334519073e-3f));
  y = MultiplyAdd(y, r, Broadcast(4.1665795894e-2f));
  y = MultiplyAdd(y, r, Broadcast(1.6666665459e-1f));
  y = MultiplyAdd(y, r, Broadcast(5.0000001201e-1f));
  y = MultiplyAdd(y, r * r, r) + Broadcast(1.0f);
#if defined(__AVX512F__)
  return _mm512_scalef_ps(y, n);
#else
  // In two steps, so that neither factor leaves the range of floats.
  const Ints exponent = __builtin_bit_cast(Ints, shifted) - 0x4b400000;
  const Ints half = exponent >> 1;
  const Floats low = __builtin_bit_cast(Floats, (half + 127) << 23);
  const Floats high = __builtin_bit_cast(Floats, (exponent - half + 127) << 23);
  return y * low * high;
#endif
}

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
