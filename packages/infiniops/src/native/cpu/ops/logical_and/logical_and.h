// logical_and for the CPU: see src/base/logical_and.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_AND_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_AND_H_

#include "native/cpu/shared/logical.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/logical_and.h"

namespace infini::ops {

template <>
struct Operator<LogicalAnd, Device::Type::kCpu, 0>
    : cpu::LogicalOperator<LogicalAnd, cpu::Logic::kAnd> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_AND_H_
