// Conversions are exact one way and round to nearest even the other way, for every 16-bit pattern
// and its midpoints.
#include "infini/rt/float16.h"

#include <cmath>
#include <limits>
#include <random>

#include "check.h"

using namespace infini::rt;

namespace {

template <typename Half>
bool IsNan(Half value) {
  return std::isnan(static_cast<float>(value));
}

/// Checks all patterns: each converts to a float and back to itself, and what lies between
/// neighbours goes to the nearer one, the midpoint to the even one.
template <typename Half>
void CheckAllPatterns(std::uint16_t infinity) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half value = Half::FromBits(static_cast<std::uint16_t>(bits));
    const float exact = static_cast<float>(value);
    if (std::isnan(exact)) {
      CHECK(IsNan(Half(exact)));
      continue;
    }
    CHECK_EQ(Half(exact).bits, value.bits);
    const std::uint16_t magnitude = static_cast<std::uint16_t>(bits & 0x7fff);
    if (magnitude + 1 >= infinity) continue;
    const double low = exact;
    const double high = static_cast<float>(Half::FromBits(static_cast<std::uint16_t>(bits + 1)));
    const float middle =
        static_cast<float>((low + high) / 2);  // exact: one more bit than the half type has
    const std::uint16_t even = static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    CHECK_EQ(Half(middle).bits, even);
    CHECK_EQ(Half(std::nextafter(middle, exact)).bits, value.bits);
    CHECK_EQ(Half(std::nextafter(middle, static_cast<float>(high))).bits,
             static_cast<std::uint16_t>(bits + 1));
  }
}

}  // namespace

int main() {
  CheckAllPatterns<Float16>(0x7c00);
  CheckAllPatterns<BFloat16>(0x7f80);

  const float infinity = std::numeric_limits<float>::infinity();
  CHECK_EQ(Float16(infinity).bits, std::uint16_t{0x7c00});
  CHECK_EQ(Float16(-infinity).bits, std::uint16_t{0xfc00});
  CHECK_EQ(Float16(65504.0f).bits, std::uint16_t{0x7bff});
  CHECK_EQ(Float16(65519.996f).bits, std::uint16_t{0x7bff});
  CHECK_EQ(Float16(65520.0f).bits, std::uint16_t{0x7c00});
  CHECK_EQ(BFloat16(std::numeric_limits<float>::max()).bits, std::uint16_t{0x7f80});
  CHECK_EQ(Float16(-0.0f).bits, std::uint16_t{0x8000});
  CHECK_EQ(BFloat16(-0.0f).bits, std::uint16_t{0x8000});
  CHECK_EQ(Float16(std::numeric_limits<float>::denorm_min()).bits, std::uint16_t{0});

  // A NaN whose payload lies only in the bits that are dropped must not become infinity.
  CHECK(IsNan(Float16(std::bit_cast<float>(0x7f800001u))));
  CHECK(IsNan(BFloat16(std::bit_cast<float>(0x7f800001u))));
  CHECK(IsNan(BFloat16(std::bit_cast<float>(0xffffffffu))));

  // Usable in constant expressions.
  static_assert(Float16(1.0f).bits == 0x3c00 && BFloat16(1.0f).bits == 0x3f80);
  return testing::Finish();
}
