// Numbers in the range of an integer dtype.
#ifndef INFINI_OPS_NATIVE_CPU_SATURATE_H_
#define INFINI_OPS_NATIVE_CPU_SATURATE_H_

#ifndef INFINI_OPS_CPU_ISA

#include <infini/rt/data_type.h>

#include "infini/ops/scalar.h"

namespace infini::ops::cpu {

/// The bits of the integer of `dtype` that is nearest to the integral `value`.
inline std::uint64_t Saturated(const Scalar& value, rt::DataType dtype) {
  const int bits = static_cast<int>(rt::DataTypeSize(dtype)) * 8;
  const bool is_signed = dtype == rt::DataType::kInt8 || dtype == rt::DataType::kInt16 ||
                         dtype == rt::DataType::kInt32 || dtype == rt::DataType::kInt64;
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  const bool negative = value.kind() != Scalar::Kind::kUnsigned && value.integer() < 0;
  const auto raw = static_cast<std::uint64_t>(value.integer());
  if (!negative) return raw < most ? raw : most;
  const std::uint64_t least = is_signed ? ~most : 0;  // -most - 1
  return static_cast<std::int64_t>(raw) < static_cast<std::int64_t>(least) || !is_signed ? least
                                                                                         : raw;
}

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SATURATE_H_
