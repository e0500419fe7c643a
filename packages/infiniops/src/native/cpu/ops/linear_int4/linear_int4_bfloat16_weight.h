// linear_int4 with many rows of bfloat16 times weights rounded to it, for the CPU: see
// src/base/linear_int4.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT4_BFLOAT16_WEIGHT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT4_BFLOAT16_WEIGHT_H_

#include "infini/ops/base/linear_int4.h"
#include "native/cpu/shared/quantized.h"

namespace infini::ops {

template <>
struct Operator<LinearInt4, Device::Type::kCpu, 2> {
  static constexpr char kName[] = "bfloat16_weight";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const TensorView& scale, const std::optional<TensorView>& zero,
                   const std::optional<TensorView>& bias, const TensorView& out) {
    cpu::LaunchInt4(LinearInt4::kOperator, context, input, weight, scale, zero, bias,
                    cpu::QuantizedTask::Rounding::kWeight, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LINEAR_INT4_BFLOAT16_WEIGHT_H_
