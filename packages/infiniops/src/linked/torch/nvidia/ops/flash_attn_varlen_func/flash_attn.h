// flash_attn_varlen_func by the distribution flash-attn: the exported function; see
// flash_attn.yaml.
#ifndef INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_VARLEN_FUNC_FLASH_ATTN_H_
#define INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_VARLEN_FUNC_FLASH_ATTN_H_

#include "core/operator.h"
#include "infini/ops/base/flash_attn_varlen_func.h"

namespace infini::ops {

template <>
struct Operator<FlashAttnVarlenFunc, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "flash_attn";

  static void Call(const Context& context, const TensorView& q, const TensorView& k,
                   const TensorView& v, const TensorView& cu_seqlens_q,
                   const TensorView& cu_seqlens_k, const std::optional<TensorView>& block_table,
                   std::int64_t max_seqlen_q, std::int64_t max_seqlen_k,
                   const std::optional<double>& softmax_scale, bool causal,
                   std::int64_t window_left, std::int64_t window_right, const TensorView& out);
  static Support Supports(const Context& context, const TensorView& q, const TensorView& k,
                          const TensorView& v, const TensorView& cu_seqlens_q,
                          const TensorView& cu_seqlens_k,
                          const std::optional<TensorView>& block_table, std::int64_t max_seqlen_q,
                          std::int64_t max_seqlen_k, const std::optional<double>& softmax_scale,
                          bool causal, std::int64_t window_left, std::int64_t window_right,
                          const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TORCH_NVIDIA_OPS_FLASH_ATTN_VARLEN_FUNC_FLASH_ATTN_H_
