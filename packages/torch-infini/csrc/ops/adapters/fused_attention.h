// `aten::_scaled_dot_product_fused_attention_overrideable`, which
// `torch.nn.functional.scaled_dot_product_attention` calls on devices that choose it.
#ifndef TORCH_INFINI_OPS_ADAPTERS_FUSED_ATTENTION_H_
#define TORCH_INFINI_OPS_ADAPTERS_FUSED_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "ops/call.h"

namespace torch_infini::adapters {

using AttentionResult = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt,
                                   c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

/// Mixes `value` by the softmax of the scaled products of `query` and `key`, all
/// of shape [batch, heads, length, size]; there may be fewer heads of keys.
///
/// Only the first result is defined: a backward pass would read the others, and
/// `ChooseAttention` leaves calls that have one to PyTorch's composition.
AttentionResult FusedAttention(const OperatorInfo& info, const at::Tensor& query,
                               const at::Tensor& key, const at::Tensor& value,
                               const std::optional<at::Tensor>& bias, double dropout,
                               bool is_causal, bool return_debug_mask, std::optional<double> scale);

/// PyTorch's question which implementation serves a call: ours where it can and
/// no gradient is needed, else the composition of products and a softmax.
std::int64_t ChooseAttention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const std::optional<at::Tensor>& mask,
                             double dropout, bool is_causal, std::optional<double> scale,
                             bool enable_gqa);

}  // namespace torch_infini::adapters

#endif  // TORCH_INFINI_OPS_ADAPTERS_FUSED_ATTENTION_H_
