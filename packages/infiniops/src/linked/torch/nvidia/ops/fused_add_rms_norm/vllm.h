// fused_add_rms_norm by the wheel vllm: the exported function; see vllm.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FUSED_ADD_RMS_NORM_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FUSED_ADD_RMS_NORM_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/fused_add_rms_norm.h"

namespace infini::ops {

template <>
struct Operator<FusedAddRmsNorm, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input, const TensorView& residual,
                   const std::optional<TensorView>& weight, double eps);
  static Support Supports(const Context& context, const TensorView& input,
                          const TensorView& residual, const std::optional<TensorView>& weight,
                          double eps);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FUSED_ADD_RMS_NORM_VLLM_H_
