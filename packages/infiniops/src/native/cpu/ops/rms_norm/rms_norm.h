// rms_norm for the CPU: see src/base/rms_norm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_

#include "native/cpu/shared/normalize.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/rms_norm.h"

namespace infini::ops {

template <>
struct Operator<RmsNorm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<TensorView>& weight, double eps, const TensorView& out) {
    cpu::LaunchNormalize(RmsNorm::kOperator, context, {input, nullptr, nullptr, out}, weight, {},
                         false, eps);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_
