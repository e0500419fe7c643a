// silu_and_mul for the CPU: see src/base/silu_and_mul.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SILU_AND_MUL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SILU_AND_MUL_H_

#include "native/cpu/shared/gated.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/silu_and_mul.h"

namespace infini::ops {

template <>
struct Operator<SiluAndMul, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& out) {
    cpu::LaunchGatedHalves(SiluAndMul::kOperator, context, cpu::Activation::kSilu, input, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SILU_AND_MUL_H_
