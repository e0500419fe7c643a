// lt for the CPU: see src/base/lt.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LT_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/lt.h"

namespace infini::ops {

template <>
struct Operator<Lt, Device::Type::kCpu, 0> : cpu::CompareOperator<Lt, cpu::Comparison::kLess> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LT_H_
