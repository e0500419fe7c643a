// swiglu for the CPU: see src/base/swiglu.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SWIGLU_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SWIGLU_H_

#include "native/cpu/shared/gated.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/swiglu.h"

namespace infini::ops {

template <>
struct Operator<Swiglu, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& gate, const TensorView& up,
                   const TensorView& out) {
    cpu::LaunchGated(Swiglu::kOperator, context, cpu::Activation::kSilu, gate, up, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SWIGLU_H_
