// le for the CPU: see src/base/le.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LE_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/le.h"

namespace infini::ops {

template <>
struct Operator<Le, Device::Type::kCpu, 0> : cpu::CompareOperator<Le, cpu::Comparison::kLessEqual> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LE_H_
