// The vector of floats that an instruction set works on, and what kernels do
// with it. Plain arithmetic uses the compiler's operators on vectors.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_SIMD_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_SIMD_H_

#include <cstdint>
#include <cstring>

#include "native/cpu/vector/float16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

/// `kLanes` floats.
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
/// The sums of four vectors, or any four floats.
using FourFloats = float __attribute__((vector_size(4 * sizeof(float))));
/// As many 32-bit patterns.
using Words = std::uint32_t __attribute__((vector_size(kLanes * sizeof(float))));
/// Half as many doubles.
using Doubles = double __attribute__((vector_size(kLanes * sizeof(float))));

inline Floats Load(const float* values) {
  Floats result;
  std::memcpy(&result, values, sizeof(result));
  return result;
}

inline void Store(Floats value, float* target) { std::memcpy(target, &value, sizeof(value)); }

inline Doubles Load(const double* values) {
  Doubles result;
  std::memcpy(&result, values, sizeof(result));
  return result;
}

inline void Store(Doubles value, double* target) { std::memcpy(target, &value, sizeof(value)); }

/// a * b + c, rounded once where the instruction set can.
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

inline Doubles MultiplyAdd(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

/// Loads and widens `kLanes` values.
inline Floats Load(const BFloat16* values) {
#if defined(__AVX512F__)
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__AVX2__)
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#elif defined(__aarch64__)
  return vreinterpretq_f32_u32(
      vshll_n_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(values)), 16));
#else
  Floats result;
  for (int i = 0; i < kLanes; ++i) result[i] = Widen(values[i]);
  return result;
#endif
}

inline Floats Load(const Float16* values) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
#else
  Floats result;
  for (int i = 0; i < kLanes; ++i) result[i] = Widen(values[i]);
  return result;
#endif
}

/// Narrows and stores `kLanes` values.
inline void Store(Floats value, BFloat16* target) {
#if defined(__AVX512BF16__)
  // The instruction takes subnormal numbers for zeros.
  constexpr int kSubnormal = 0x20;
  if (_mm512_fpclass_ps_mask(value, kSubnormal) == 0) [[likely]] {
    const __m256bh rounded = _mm512_cvtneps_pbh(value);
    std::memcpy(target, &rounded, sizeof(rounded));
    return;
  }
#endif
  using Bits = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
  using Halves = std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));
  const Bits bits = __builtin_bit_cast(Bits, value);
  const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Bits narrow = value == value ? rounded : (bits >> 16) | 0x40u;
#if defined(__AVX512F__)
  const __m256i halves = _mm512_cvtepi32_epi16(__builtin_bit_cast(__m512i, narrow));
#elif defined(__AVX2__)
  const __m256i wide = __builtin_bit_cast(__m256i, narrow);
  const __m128i halves =
      _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
#else
  const Halves halves = __builtin_convertvector(narrow, Halves);
#endif
  static_assert(sizeof(halves) == sizeof(Halves));
  std::memcpy(target, &halves, sizeof(halves));
}

inline void Store(Floats value, Float16* target) {
#if defined(__AVX512F__)
  const __m256i halves = _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
  std::memcpy(target, &halves, sizeof(halves));
#elif defined(__AVX2__)
  const __m128i halves = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
  std::memcpy(target, &halves, sizeof(halves));
#else
  for (int i = 0; i < kLanes; ++i) Narrow(value[i], target + i);
#endif
}

/// Loads and widens `kLanes` whole numbers, exactly.
inline Floats Load(const std::int8_t* values) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#else
  Floats result;
  for (int i = 0; i < kLanes; ++i) result[i] = static_cast<float>(values[i]);
  return result;
#endif
}

/// The sums over the lanes of `a`, `b`, `c` and `d`. The order of additions is
/// the same for each of the four.
inline FourFloats SumLanes(Floats a, Floats b, Floats c, Floats d) {
#if defined(__AVX512F__)
  const __m512 ab = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b);
  const __m512 cd = _mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d);
  const __m512 abcd =
      _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))) +
      _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
  const __m256 half = _mm512_castps512_ps256(abcd) + _mm512_extractf32x8_ps(abcd, 1);
  return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
#elif defined(__AVX2__)
  const __m256 ab = _mm256_unpacklo_ps(a, b) + _mm256_unpackhi_ps(a, b);
  const __m256 cd = _mm256_unpacklo_ps(c, d) + _mm256_unpackhi_ps(c, d);
  const __m256 abcd =
      _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))) +
      _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
  return _mm256_castps256_ps128(abcd) + _mm256_extractf128_ps(abcd, 1);
#else
  const Floats ab =
      __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Floats cd =
      __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#endif
}

/// Adds the sums over the lanes of four vectors to four numbers.
inline void AddLanes(Floats a, Floats b, Floats c, Floats d, float* target) {
  FourFloats four;
  std::memcpy(&four, target, sizeof(four));
  four += SumLanes(a, b, c, d);
  std::memcpy(target, &four, sizeof(four));
}

inline void AddLanes(Doubles a, Doubles b, Doubles c, Doubles d, double* target) {
#if defined(__AVX2__)
#if defined(__AVX512F__)
  const __m512d wide_ab = _mm512_unpacklo_pd(a, b) + _mm512_unpackhi_pd(a, b);
  const __m512d wide_cd = _mm512_unpacklo_pd(c, d) + _mm512_unpackhi_pd(c, d);
  const __m256d ab = _mm512_castpd512_pd256(wide_ab) + _mm512_extractf64x4_pd(wide_ab, 1);
  const __m256d cd = _mm512_castpd512_pd256(wide_cd) + _mm512_extractf64x4_pd(wide_cd, 1);
#else
  const __m256d ab = _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
  const __m256d cd = _mm256_unpacklo_pd(c, d) + _mm256_unpackhi_pd(c, d);
#endif
  const __m256d four = _mm256_permute2f128_pd(ab, cd, 0x20) + _mm256_permute2f128_pd(ab, cd, 0x31);
  _mm256_storeu_pd(target, _mm256_loadu_pd(target) + four);
#else
  target[0] += a[0] + a[1];
  target[1] += b[0] + b[1];
  target[2] += c[0] + c[1];
  target[3] += d[0] + d[1];
#endif
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_SIMD_H_
