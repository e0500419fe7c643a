// gelu_and_mul by the wheel vllm: the exported function; see vllm.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_GELU_AND_MUL_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_GELU_AND_MUL_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/gelu_and_mul.h"

namespace infini::ops {

template <>
struct Operator<GeluAndMul, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input, const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_GELU_AND_MUL_VLLM_H_
