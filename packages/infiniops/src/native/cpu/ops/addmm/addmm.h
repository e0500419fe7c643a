// addmm for the CPU: see src/base/addmm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ADDMM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ADDMM_H_

#include "infini/ops/base/addmm.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<Addmm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& mat1,
                   const TensorView& mat2, const Scalar& beta, const Scalar& alpha,
                   const TensorView& out) {
    const cpu::ProductScale scale = {.alpha = alpha.real(), .beta = beta.real()};
    cpu::LaunchProduct(Addmm::kOperator, context, mat1, mat2, input, scale, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ADDMM_H_
