// logical_or for the CPU: see src/base/logical_or.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_OR_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_OR_H_

#include "native/cpu/shared/logical.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/logical_or.h"

namespace infini::ops {

template <>
struct Operator<LogicalOr, Device::Type::kCpu, 0>
    : cpu::LogicalOperator<LogicalOr, cpu::Logic::kOr> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_OR_H_
