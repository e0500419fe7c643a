// linear_activation for the CPU: see src/base/linear_activation.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LINEAR_ACTIVATION_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LINEAR_ACTIVATION_H_

#include "infini/ops/base/linear_activation.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<LinearActivation, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const std::optional<TensorView>& bias, std::string_view activation,
                   const TensorView& out) {
    cpu::LaunchRowProduct(LinearActivation::kOperator, context, input, weight, bias,
                          EpilogueOf(activation), out);
  }

 private:
  static cpu::Epilogue EpilogueOf(std::string_view activation) {
    if (activation == "relu") return cpu::Epilogue::kRelu;
    if (activation == "silu") return cpu::Epilogue::kSilu;
    if (activation == "gelu") return cpu::Epilogue::kGelu;
    return cpu::Epilogue::kGeluTanh;
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LINEAR_ACTIVATION_H_
