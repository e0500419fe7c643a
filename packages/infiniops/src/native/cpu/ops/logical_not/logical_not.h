// logical_not for the CPU: see src/base/logical_not.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_NOT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_NOT_H_

#include "native/cpu/shared/logical.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/logical_not.h"

namespace infini::ops {

template <>
struct Operator<LogicalNot, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& out) {
    cpu::LaunchLogical(LogicalNot::kOperator, context, cpu::Logic::kNot, input, input, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOGICAL_NOT_H_
