// silu_and_mul by the wheel vllm: the exported function; see vllm.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_METAX_OPS_SILU_AND_MUL_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_METAX_OPS_SILU_AND_MUL_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/silu_and_mul.h"

namespace infini::ops {

template <>
struct Operator<SiluAndMul, Device::Type::kMetax, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input, const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_METAX_OPS_SILU_AND_MUL_VLLM_H_
