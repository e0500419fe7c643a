#include "ops/element.h"

#include <c10/util/Exception.h>
#include <c10/util/TypeCast.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace torch_infini {
namespace {

/// Calls `function` with a value of the C++ type of `type`.
template <typename Function>
decltype(auto) WithTypeOf(c10::ScalarType type, Function&& function) {
  switch (type) {
#define TORCH_INFINI_CASE(name) \
  case c10::ScalarType::name:   \
    return function(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::name>{})
    TORCH_INFINI_CASE(Bool);
    TORCH_INFINI_CASE(Byte);
    TORCH_INFINI_CASE(Char);
    TORCH_INFINI_CASE(Short);
    TORCH_INFINI_CASE(Int);
    TORCH_INFINI_CASE(Long);
    TORCH_INFINI_CASE(UInt16);
    TORCH_INFINI_CASE(UInt32);
    TORCH_INFINI_CASE(UInt64);
    TORCH_INFINI_CASE(Half);
    TORCH_INFINI_CASE(BFloat16);
    TORCH_INFINI_CASE(Float);
    TORCH_INFINI_CASE(Double);
    TORCH_INFINI_CASE(ComplexFloat);
    TORCH_INFINI_CASE(ComplexDouble);
    TORCH_INFINI_CASE(Float8_e4m3fn);
    TORCH_INFINI_CASE(Float8_e5m2);
#undef TORCH_INFINI_CASE
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "infini has no element type ", c10::toString(type));
  }
}

/// Calls `function` with the number in the C++ type that `number` holds it in.
template <typename Function>
void WithValueOf(const at::Scalar& number, Function&& function) {
  switch (number.type()) {
    case c10::ScalarType::Bool:
      return function(number.to<bool>());
    case c10::ScalarType::Long:
      return function(number.to<std::int64_t>());
    case c10::ScalarType::UInt64:
      return function(number.to<std::uint64_t>());
    case c10::ScalarType::ComplexDouble:
      return function(number.to<c10::complex<double>>());
    default:
      return function(number.to<double>());
  }
}

template <typename T>
constexpr bool kIsComplex =
    std::is_same_v<T, c10::complex<float>> || std::is_same_v<T, c10::complex<double>>;

}  // namespace

void Element::Set(const at::Scalar& number) {
  WithTypeOf(type_, [&](auto zero) {
    using T = decltype(zero);
    WithValueOf(number, [&](auto value) {
      const T converted = c10::convert<T>(value);
      std::memcpy(bytes_.data(), &converted, sizeof(T));
    });
  });
}

at::Scalar Element::Get(bool conjugate, bool negative) const {
  return WithTypeOf(type_, [&](auto zero) -> at::Scalar {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    if constexpr (kIsComplex<T>) {
      c10::complex<double> number(value.real(), value.imag());
      if (conjugate) number = {number.real(), -number.imag()};
      return negative ? -number : number;
    } else if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<T, std::uint64_t>) return value;
      const auto number = static_cast<std::int64_t>(value);
      return negative ? -number : number;
    } else {
      const auto number = static_cast<double>(value);
      return negative ? -number : number;
    }
  });
}

}  // namespace torch_infini
