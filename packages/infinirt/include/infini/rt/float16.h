// Storage types for 16-bit floating-point elements and their conversions.
#ifndef INFINI_RT_FLOAT16_H_
#define INFINI_RT_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace infini::rt {

/// IEEE 754 binary16. Conversion from float rounds to nearest, ties to even, and keeps NaN.
struct Float16 {
  /// The pattern.
  std::uint16_t bits = 0;

  /// Zero.
  constexpr Float16() noexcept = default;
  /// The nearest binary16 value; ties go to the even one.
  constexpr explicit Float16(float value) noexcept : bits(FromFloat(value)) {}
  /// The value with that pattern.
  static constexpr Float16 FromBits(std::uint16_t bits) noexcept {
    Float16 result;
    result.bits = bits;
    return result;
  }

  /// Exact: every binary16 value is a float.
  constexpr explicit operator float() const noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0)
      return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    // Subnormal: fraction * 2^-24, which a float holds exactly.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }

 private:
  static constexpr std::uint16_t FromFloat(float value) noexcept {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint16_t sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
    const std::uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      // The quiet bit is set so that a NaN whose payload lies in the dropped bits stays a NaN.
      return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    }
    if (magnitude >= 0x477ff000u)
      return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
    if (magnitude < 0x38800000u) {
      // Subnormal result: adding 0.5 aligns the unit of the float's last place with 2^-24 and
      // rounds to even.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign |
                                        (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23);
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
};

/// The upper half of a float. Conversion from float rounds to nearest, ties to even, and keeps NaN.
struct BFloat16 {
  /// The pattern.
  std::uint16_t bits = 0;

  /// Zero.
  constexpr BFloat16() noexcept = default;
  /// The nearest bfloat16 value; ties go to the even one.
  constexpr explicit BFloat16(float value) noexcept : bits(FromFloat(value)) {}
  /// The value with that pattern.
  static constexpr BFloat16 FromBits(std::uint16_t bits) noexcept {
    BFloat16 result;
    result.bits = bits;
    return result;
  }

  /// Exact: every bfloat16 value is a float.
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

 private:
  static constexpr std::uint16_t FromFloat(float value) noexcept {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((word >> 16) | 0x40u);
    return static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

}  // namespace infini::rt

#endif  // INFINI_RT_FLOAT16_H_
