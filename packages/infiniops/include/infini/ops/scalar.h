// A number whose type is decided when it meets a tensor.
#ifndef INFINI_OPS_SCALAR_H_
#define INFINI_OPS_SCALAR_H_

#include <complex>
#include <concepts>
#include <cstdint>

namespace infini::ops {

/// A bool, an integer, a real or a complex number, as given by the caller.
///
/// Integers keep all 64 bits; those above 2^63 - 1 are kept as unsigned.
class Scalar {
 public:
  /// What kind of number was given.
  enum class Kind : std::uint8_t { kBool, kInteger, kUnsigned, kReal, kComplex };

  constexpr Scalar(bool value) noexcept : kind_(Kind::kBool), integer_(value) {}
  template <std::signed_integral T>
  constexpr Scalar(T value) noexcept : kind_(Kind::kInteger), integer_(value) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  constexpr Scalar(T value) noexcept
      : kind_(value > static_cast<std::uint64_t>(INT64_MAX) ? Kind::kUnsigned : Kind::kInteger),
        integer_(static_cast<std::int64_t>(value)) {}
  constexpr Scalar(double value) noexcept : kind_(Kind::kReal), real_(value) {}
  constexpr Scalar(std::complex<double> value) noexcept
      : kind_(Kind::kComplex), real_(value.real()), imaginary_(value.imag()) {}

  constexpr Kind kind() const noexcept { return kind_; }

  /// Whether the number is a bool or an integer.
  constexpr bool is_integral() const noexcept { return kind_ < Kind::kReal; }

  /// The number as an integer modulo 2^64; only for integral numbers.
  constexpr std::int64_t integer() const noexcept { return integer_; }

  /// The number as a double, without its imaginary part.
  constexpr double real() const noexcept {
    switch (kind_) {
      case Kind::kBool:
      case Kind::kInteger:
        return static_cast<double>(integer_);
      case Kind::kUnsigned:
        return static_cast<double>(static_cast<std::uint64_t>(integer_));
      default:
        return real_;
    }
  }

  /// The imaginary part; 0 but for complex numbers.
  constexpr double imaginary() const noexcept { return imaginary_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  double real_ = 0;
  double imaginary_ = 0;
};

}  // namespace infini::ops

#endif  // INFINI_OPS_SCALAR_H_
