// linear_int8 for the CPU: see src/base/linear_int8.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT8_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT8_H_

#include "infini/ops/base/linear_int8.h"
#include "native/cpu/shared/quantized.h"

namespace infini::ops {

template <>
struct Operator<LinearInt8, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const TensorView& scale, const std::optional<TensorView>& bias,
                   const TensorView& out) {
    cpu::LaunchInt8(LinearInt8::kOperator, context, input, weight, scale, bias,
                    cpu::QuantizedTask::Rounding::kNone, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT8_H_
