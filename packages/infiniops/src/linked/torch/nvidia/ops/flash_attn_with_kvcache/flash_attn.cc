#include "linked/torch/nvidia/ops/flash_attn_with_kvcache/flash_attn.h"

#include <vector>

#include "linked/torch/shared/c10_cuda_device.h"
#include "linked/torch/shared/flash_attention.h"

// FlashAttention's, as its contract has it.
namespace flash {
std::vector<at::Tensor> mha_fwd_kvcache(
    at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
    std::optional<const at::Tensor>& k, std::optional<const at::Tensor>& v,
    std::optional<const at::Tensor>& lengths, std::optional<const at::Tensor>& rotary_cos,
    std::optional<const at::Tensor>& rotary_sin, std::optional<const at::Tensor>& cache_batch_idx,
    std::optional<const at::Tensor>& left_pad, std::optional<at::Tensor>& block_table,
    std::optional<at::Tensor>& alibi_slopes, std::optional<at::Tensor>& out, float softmax_scale,
    bool is_causal, int window_left, int window_right, float softcap, bool is_rotary_interleaved,
    int splits);
}  // namespace flash

namespace infini::ops {
namespace {

struct FlashAttn : linked::C10Device<Device::Type::kNvidia> {
  static constexpr char kProvider[] = "flash-attn";

  static at::Tensor WithKvcache(at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                                std::optional<const at::Tensor>& k,
                                std::optional<const at::Tensor>& v,
                                std::optional<const at::Tensor>& lengths,
                                std::optional<const at::Tensor>& rows,
                                std::optional<at::Tensor>& pages,
                                const linked::AttentionRule& rule) {
    std::optional<const at::Tensor> none;
    std::optional<at::Tensor> nothing;
    return flash::mha_fwd_kvcache(q, k_cache, v_cache, k, v, lengths, none, none, rows, none, pages,
                                  nothing, nothing, rule.scale, rule.causal, rule.window_left,
                                  rule.window_right, 0.0f, true, 0)
        .at(0);
  }
};

}  // namespace

void Operator<FlashAttnWithKvcache, Device::Type::kNvidia, 16>::Call(
    const Context& context, const TensorView& q, const TensorView& k_cache,
    const TensorView& v_cache, const std::optional<TensorView>& k,
    const std::optional<TensorView>& v, const std::optional<TensorView>& cache_seqlens,
    const std::optional<TensorView>& cache_batch_idx, const std::optional<TensorView>& block_table,
    const std::optional<double>& softmax_scale, bool causal, std::int64_t window_left,
    std::int64_t window_right, const TensorView& out) {
  if (out.numel() == 0) return;
  const linked::FlashAttnWithKvcacheTask task = {
      linked::MakeOperand(q),
      linked::MakeOperand(k_cache),
      linked::MakeOperand(v_cache),
      linked::MakeOperand(k),
      linked::MakeOperand(v),
      linked::MakeOperand(cache_seqlens),
      linked::MakeOperand(cache_batch_idx),
      linked::MakeOperand(block_table),
      linked::MakeOperand(out),
      linked::MakeAttentionRule(softmax_scale, q.size(-1), causal, window_left, window_right)};
  linked::Launch<FlashAttn>(context, task);
}

Support Operator<FlashAttnWithKvcache, Device::Type::kNvidia, 16>::Supports(
    const Context&, const TensorView& q, const TensorView& k_cache, const TensorView& v_cache,
    const std::optional<TensorView>&, const std::optional<TensorView>&,
    const std::optional<TensorView>&, const std::optional<TensorView>& cache_batch_idx,
    const std::optional<TensorView>& block_table, const std::optional<double>&, bool, std::int64_t,
    std::int64_t, const TensorView&) {
  if (block_table && cache_batch_idx) {
    return Support::No("it takes `block_table` or `cache_batch_idx`, not both");
  }
  return linked::SupportsFlashAttention(q, k_cache, v_cache, block_table);
}

}  // namespace infini::ops
