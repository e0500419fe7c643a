// layer_norm for the CPU: see src/base/layer_norm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LAYER_NORM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LAYER_NORM_H_

#include "native/cpu/shared/normalize.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/layer_norm.h"

namespace infini::ops {

template <>
struct Operator<LayerNorm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
                   double eps, const TensorView& out) {
    cpu::LaunchNormalize(LayerNorm::kOperator, context, {input, nullptr, nullptr, out}, weight,
                         bias, true, eps);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LAYER_NORM_H_
