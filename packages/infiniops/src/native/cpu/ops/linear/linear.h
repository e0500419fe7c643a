// linear for the CPU: see src/base/linear.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_

#include "infini/ops/base/linear.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<Linear, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const std::optional<TensorView>& bias, const TensorView& out) {
    cpu::LaunchRowProduct(Linear::kOperator, context, input, weight, bias, cpu::Epilogue::kNone,
                          out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_
