// add_rms_norm for the CPU: see src/base/add_rms_norm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ADD_RMS_NORM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ADD_RMS_NORM_H_

#include "native/cpu/shared/normalize.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/add_rms_norm.h"

namespace infini::ops {

template <>
struct Operator<AddRmsNorm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& residual,
                   const std::optional<TensorView>& weight, double eps, const TensorView& out,
                   const TensorView& sum) {
    cpu::LaunchNormalize(AddRmsNorm::kOperator, context, {input, &residual, &sum, out}, weight, {},
                         false, eps);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ADD_RMS_NORM_H_
