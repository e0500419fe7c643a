// flash_attn_with_kvcache by the distribution flash-attn: the exported function; see
// flash_attn.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_WITH_KVCACHE_FLASH_ATTN_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_WITH_KVCACHE_FLASH_ATTN_H_

#include "core/operator.h"
#include "infini/ops/base/flash_attn_with_kvcache.h"

namespace infini::ops {

template <>
struct Operator<FlashAttnWithKvcache, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "flash_attn";

  static void Call(const Context& context, const TensorView& q, const TensorView& k_cache,
                   const TensorView& v_cache, const std::optional<TensorView>& k,
                   const std::optional<TensorView>& v,
                   const std::optional<TensorView>& cache_seqlens,
                   const std::optional<TensorView>& cache_batch_idx,
                   const std::optional<TensorView>& block_table,
                   const std::optional<double>& softmax_scale, bool causal,
                   std::int64_t window_left, std::int64_t window_right, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& q, const TensorView& k_cache,
                          const TensorView& v_cache, const std::optional<TensorView>& k,
                          const std::optional<TensorView>& v,
                          const std::optional<TensorView>& cache_seqlens,
                          const std::optional<TensorView>& cache_batch_idx,
                          const std::optional<TensorView>& block_table,
                          const std::optional<double>& softmax_scale, bool causal,
                          std::int64_t window_left, std::int64_t window_right,
                          const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_WITH_KVCACHE_FLASH_ATTN_H_
