// logical_xor for the CPU: see src/base/logical_xor.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_XOR_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_XOR_H_

#include "native/cpu/shared/logical.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/logical_xor.h"

namespace infini::ops {

template <>
struct Operator<LogicalXor, Device::Type::kCpu, 0>
    : cpu::LogicalOperator<LogicalXor, cpu::Logic::kXor> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_XOR_H_
