// rotary_embedding by the wheel vllm: the exported function; see vllm.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_ROTARY_EMBEDDING_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_ROTARY_EMBEDDING_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/rotary_embedding.h"

namespace infini::ops {

template <>
struct Operator<RotaryEmbedding, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& input, const TensorView& positions,
                   const TensorView& cos_sin_cache, std::int64_t offset, bool interleaved,
                   const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input,
                          const TensorView& positions, const TensorView& cos_sin_cache,
                          std::int64_t offset, bool interleaved, const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_ROTARY_EMBEDDING_VLLM_H_
