// rms_norm by PyTorch: the function that torch.nn.functional.rms_norm calls; see pytorch.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_PYTORCH_H_
#define INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_PYTORCH_H_

#include "core/operator.h"
#include "infini/ops/base/rms_norm.h"

namespace infini::ops {

template <>
struct Operator<RmsNorm, Device::Type::kCpu, 18> {
  static constexpr char kName[] = "pytorch";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<TensorView>& weight, double eps, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input,
                          const std::optional<TensorView>& weight, double eps,
                          const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_CPU_OPS_RMS_NORM_PYTORCH_H_
