// The greatest and the least of many values, where NaN comes before every number.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_EXTREMES_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_EXTREMES_H_

#include <cstdint>
#include <cstring>

#include "native/cpu/vector/math.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Which lanes, or whether any is NaN in `a` or in `b`.
#if defined(__AVX512F__)
using Unordered = __mmask16;
inline Unordered AreUnordered(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
inline bool Any(Unordered lanes) { return lanes != 0; }
#else
using Unordered = Ints;
inline Unordered AreUnordered(Floats a, Floats b) { return (a != a) | (b != b); }
#endif

/// Whether `value` takes the place of `best`: it is greater (less), or the first NaN.
template <typename Real>
bool IsBetter(bool greatest, Real value, Real best) {
  const bool beyond = greatest ? value > best : value < best;
  return beyond || (value != value && best == best);
}

/// The greatest or least of `count` values; NaN where one is.
template <bool kGreatest>
float BestOfFloats(const float* values, std::int64_t count) {
  constexpr int kChains = 4;  // enough to hide the latency of a comparison
  constexpr float kWorst = kGreatest ? -__builtin_inff() : __builtin_inff();
  const auto better = [](Floats a, Floats b) {
    return kGreatest ? GreaterOf(a, b) : LesserOf(a, b);
  };
  Floats best[kChains];
  for (Floats& chain : best) chain = Broadcast(kWorst);
  Unordered nan = AreUnordered(best[0], best[0]);
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
#pragma GCC unroll 2
    for (int k = 0; k < kChains; k += 2) {
      const Floats first = Load(values + i + k * kLanes);
      const Floats second = Load(values + i + (k + 1) * kLanes);
      best[k] = better(first, best[k]);
      best[k + 1] = better(second, best[k + 1]);
      nan |= AreUnordered(first, second);
    }
  }
  const auto include = [&](Floats value) {
    best[0] = better(value, best[0]);
    nan |= AreUnordered(value, value);
  };
  for (; i + kLanes <= count; i += kLanes) include(Load(values + i));
  Floats last = Broadcast(kWorst);
  std::memcpy(&last, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
  include(last);
  if (Any(nan)) return __builtin_nanf("");
  const Floats all = better(better(best[0], best[1]), better(best[2], best[3]));
  return kGreatest ? GreatestLane(all) : -GreatestLane(-all);
}
inline float BestOf(bool greatest, const float* values, std::int64_t count) {
  return greatest ? BestOfFloats<true>(values, count) : BestOfFloats<false>(values, count);
}
template <typename Real>
Real BestOf(bool greatest, const Real* values, std::int64_t count) {
  Real best = values[0];
  for (std::int64_t i = 1; i < count; ++i)
    best = IsBetter(greatest, values[i], best) ? values[i] : best;
  return best;
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_EXTREMES_H_
