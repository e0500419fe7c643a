// gemm for the CPU: see src/base/gemm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_GEMM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_GEMM_H_

#include "infini/ops/base/gemm.h"
#include "native/cpu/shared/product.h"

namespace infini::ops {

template <>
struct Operator<Gemm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& a, const TensorView& b,
                   const std::optional<TensorView>& c, double alpha, double beta,
                   const TensorView& out) {
    cpu::LaunchProduct(Gemm::kOperator, context, a, b, c, {.alpha = alpha, .beta = beta}, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_GEMM_H_
