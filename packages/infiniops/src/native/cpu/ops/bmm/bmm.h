// bmm for the CPU: see src/base/bmm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_BMM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_BMM_H_

#include "infini/ops/base/bmm.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<Bmm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& mat2,
                   const TensorView& out) {
    cpu::LaunchProduct(Bmm::kOperator, context, input, mat2, std::nullopt, {}, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_BMM_H_
