// matmul for the CPU: see src/base/matmul.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_MATMUL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_MATMUL_H_

#include "infini/ops/base/matmul.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<Matmul, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
    cpu::LaunchProduct(Matmul::kOperator, context, input, other, std::nullopt, {}, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_MATMUL_H_
