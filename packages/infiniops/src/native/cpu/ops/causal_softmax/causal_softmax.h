// causal_softmax for the CPU: see src/base/causal_softmax.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_CAUSAL_SOFTMAX_H_
#define INFINI_OPS_NATIVE_CPU_OPS_CAUSAL_SOFTMAX_H_

#include "native/cpu/shared/softmax.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/causal_softmax.h"

namespace infini::ops {

template <>
struct Operator<CausalSoftmax, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& out) {
    cpu::LaunchSoftmax(CausalSoftmax::kOperator, context, input, input.rank() - 1, false, true,
                       out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_CAUSAL_SOFTMAX_H_
