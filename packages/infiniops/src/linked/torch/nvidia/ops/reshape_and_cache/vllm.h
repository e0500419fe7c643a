// reshape_and_cache by the wheel vllm: the exported function; see vllm.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_RESHAPE_AND_CACHE_VLLM_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_RESHAPE_AND_CACHE_VLLM_H_

#include "core/operator.h"
#include "infini/ops/base/reshape_and_cache.h"

namespace infini::ops {

template <>
struct Operator<ReshapeAndCache, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "vllm";

  static void Call(const Context& context, const TensorView& key, const TensorView& value,
                   const TensorView& key_cache, const TensorView& value_cache,
                   const TensorView& slot_mapping);
  static Support Supports(const Context& context, const TensorView& key, const TensorView& value,
                          const TensorView& key_cache, const TensorView& value_cache,
                          const TensorView& slot_mapping);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_RESHAPE_AND_CACHE_VLLM_H_
