#include "linked/torch/nvidia/ops/flash_attn_varlen_func/flash_attn.h"

#include <vector>

#include "linked/torch/shared/c10_cuda_device.h"
#include "linked/torch/shared/flash_attention.h"

// FlashAttention's, as its contract has it.
namespace flash {
std::vector<at::Tensor> mha_varlen_fwd(
    at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::optional<at::Tensor>& out,
    const at::Tensor& query_starts, const at::Tensor& key_starts,
    std::optional<at::Tensor>& used_keys, std::optional<const at::Tensor>& left_pad,
    std::optional<at::Tensor>& block_table, std::optional<at::Tensor>& alibi_slopes,
    int most_queries, int most_keys, float dropout, float softmax_scale, bool zero_tensors,
    bool is_causal, int window_left, int window_right, float softcap, bool return_softmax,
    std::optional<at::Generator> generator);
}  // namespace flash

namespace infini::ops {
namespace {

struct FlashAttn : linked::C10Device<Device::Type::kNvidia> {
  static constexpr char kProvider[] = "flash-attn";

  static at::Tensor Varlen(at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& query_starts, const at::Tensor& key_starts,
                           std::optional<at::Tensor>& pages, int most_queries, int most_keys,
                           const linked::AttentionRule& rule) {
    std::optional<const at::Tensor> none;
    std::optional<at::Tensor> nothing;
    return flash::mha_varlen_fwd(q, k, v, nothing, query_starts, key_starts, nothing, none, pages,
                                 nothing, most_queries, most_keys, 0.0f, rule.scale, false,
                                 rule.causal, rule.window_left, rule.window_right, 0.0f, false,
                                 std::nullopt)
        .at(0);
  }
};

}  // namespace

void Operator<FlashAttnVarlenFunc, Device::Type::kNvidia, 16>::Call(
    const Context& context, const TensorView& q, const TensorView& k, const TensorView& v,
    const TensorView& cu_seqlens_q, const TensorView& cu_seqlens_k,
    const std::optional<TensorView>& block_table, std::int64_t max_seqlen_q,
    std::int64_t max_seqlen_k, const std::optional<double>& softmax_scale, bool causal,
    std::int64_t window_left, std::int64_t window_right, const TensorView& out) {
  if (out.numel() == 0) return;
  const linked::FlashAttnVarlenTask task = {
      linked::MakeOperand(q),
      linked::MakeOperand(k),
      linked::MakeOperand(v),
      linked::MakeOperand(cu_seqlens_q),
      linked::MakeOperand(cu_seqlens_k),
      linked::MakeOperand(block_table),
      linked::MakeOperand(out),
      max_seqlen_q,
      max_seqlen_k,
      linked::MakeAttentionRule(softmax_scale, q.size(-1), causal, window_left, window_right)};
  linked::Launch<FlashAttn>(context, task);
}

Support Operator<FlashAttnVarlenFunc, Device::Type::kNvidia, 16>::Supports(
    const Context&, const TensorView& q, const TensorView& k, const TensorView& v,
    const TensorView&, const TensorView&, const std::optional<TensorView>& block_table,
    std::int64_t, std::int64_t, const std::optional<double>&, bool, std::int64_t, std::int64_t,
    const TensorView&) {
  return linked::SupportsFlashAttention(q, k, v, block_table);
}

}  // namespace infini::ops
