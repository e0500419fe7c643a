// 16-bit floats inside kernels. Narrowing rounds to nearest, ties to even, and
// keeps NaN; widening is exact.
//
// `infini/rt/float16.h` has the same conversions; these are compiled per
// instruction set and use its instructions.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_FLOAT16_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_FLOAT16_H_

#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#ifndef INFINI_OPS_CPU_ISA
#error "vector/ belongs to kernels: define INFINI_OPS_CPU_ISA"
#endif

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

struct Float16 {
  std::uint16_t bits;
};

struct BFloat16 {
  std::uint16_t bits;
};

inline std::uint32_t BitsOf(float value) { return __builtin_bit_cast(std::uint32_t, value); }

inline float FloatOf(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline float Widen(BFloat16 value) { return FloatOf(static_cast<std::uint32_t>(value.bits) << 16); }

inline void Narrow(float value, BFloat16* result) {
  const std::uint32_t bits = BitsOf(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  result->bits = static_cast<std::uint16_t>(is_nan ? quiet : rounded);
}

#if defined(__F16C__)

inline float Widen(Float16 value) { return _cvtsh_ss(value.bits); }

inline void Narrow(float value, Float16* result) {
  result->bits = static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(__aarch64__)

inline float Widen(Float16 value) {
  return static_cast<float>(__builtin_bit_cast(__fp16, value.bits));
}

inline void Narrow(float value, Float16* result) {
  result->bits = __builtin_bit_cast(std::uint16_t, static_cast<__fp16>(value));
}

#else

inline float Widen(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t fraction = value.bits & 0x3ffu;
  if (exponent == 0x1f) return FloatOf(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) {
    return FloatOf(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
  return FloatOf(sign | BitsOf(static_cast<float>(fraction) * 0x1p-24f));
}

inline void Narrow(float value, Float16* result) {
  const std::uint32_t bits = BitsOf(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t narrow;
  if (magnitude > 0x7f800000u) {
    narrow = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  } else if (magnitude >= 0x477ff000u) {
    narrow = 0x7c00u;  // rounds to infinity
  } else if (magnitude < 0x38800000u) {
    // Adding 0.5 aligns the last place with 2^-24 and rounds to even.
    narrow = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    narrow = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  }
  result->bits = static_cast<std::uint16_t>(sign | narrow);
}

#endif

/// Widens `count` values, as many as fit at a time.
inline void WidenBlock(const BFloat16* values, float* result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = Widen(values[i]);
}

inline void NarrowBlock(const float* values, BFloat16* result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) Narrow(values[i], result + i);
}

inline void WidenBlock(const Float16* values, float* result, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
    _mm256_storeu_ps(result + i, _mm256_cvtph_ps(bits));
  }
#endif
  for (; i < count; ++i) result[i] = Widen(values[i]);
}

inline void NarrowBlock(const float* values, Float16* result, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(result + i), bits);
  }
#endif
  for (; i < count; ++i) Narrow(values[i], result + i);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_FLOAT16_H_
