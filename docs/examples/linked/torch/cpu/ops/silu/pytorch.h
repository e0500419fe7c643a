// silu by PyTorch: the function that torch.nn.functional.silu calls; see pytorch.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_CPU_OPS_SILU_PYTORCH_H_
#define INFINI_OPS_LINKED_TORCH_CPU_OPS_SILU_PYTORCH_H_

#include "core/operator.h"
#include "infini/ops/base/silu.h"

namespace infini::ops {

template <>
struct Operator<Silu, Device::Type::kCpu, 16> {
  static constexpr char kName[] = "pytorch";

  static void Call(const Context& context, const TensorView& input, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input, const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_CPU_OPS_SILU_PYTORCH_H_
