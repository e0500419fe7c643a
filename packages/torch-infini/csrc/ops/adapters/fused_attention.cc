#include "ops/adapters/fused_attention.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <c10/util/Exception.h>
#include <infini/ops/base/scaled_dot_product_attention.h>

#include "autograd/requires_grad.h"
#include "ops/empty.h"
#include "ops/shape.h"

namespace torch_infini::adapters {

AttentionResult FusedAttention(const OperatorInfo& info, const at::Tensor& query,
                               const at::Tensor& key, const at::Tensor& value,
                               const std::optional<at::Tensor>& bias, double dropout,
                               bool is_causal, bool return_debug_mask,
                               std::optional<double> scale) {
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0.0, info.overload,
                              ": InfiniOps' attention has no dropout, got ", dropout);
  TORCH_CHECK_NOT_IMPLEMENTED(!return_debug_mask, info.overload, ": no debug mask is made");
  CheckRank(info, "query", query, 3);
  CheckRank(info, "value", value, 3);
  CheckPlace(info, "key", key, query.device());
  CheckPlace(info, "value", value, query.device());
  CheckPlace(info, "attn_bias", bias, query.device());
  CheckType(info, query.scalar_type(), query.device());
  CheckSameType(info, "key", key, "query", query);
  CheckSameType(info, "value", value, "query", query);
  Shape shape;
  AppendSizes(shape, query, 0, -1);
  shape.push_back(value.size(-1));
  const at::Tensor result = EmptyStrided(shape, c10::contiguous_strides(shape), query.scalar_type(),
                                         query.device().index());
  const Call call(query.device().index());
  WithTorchErrors([&] {
    infini::ops::ScaledDotProductAttention::Call(call.context(), call.View(query), call.View(key),
                                                 call.View(value), call.View(bias), is_causal,
                                                 scale, call.View(result));
  });
  const at::Tensor none;
  return {result, none, none, none, query.size(-2), key.size(-2), none, none, none};
}

std::int64_t ChooseAttention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const std::optional<at::Tensor>& mask,
                             double dropout, bool /*is_causal*/, std::optional<double> /*scale*/,
                             bool /*enable_gqa*/) {
  const c10::ScalarType type = query.scalar_type();
  const bool typed = type == c10::ScalarType::Float || type == c10::ScalarType::Half ||
                     type == c10::ScalarType::BFloat16;
  const bool fits = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                    key.size(-1) == query.size(-1) && key.scalar_type() == type &&
                    value.scalar_type() == type && query.numel() > 0 && key.numel() > 0;
  const bool recorded = autograd::IsDifferentiated(query) || autograd::IsDifferentiated(key) ||
                        autograd::IsDifferentiated(value) || autograd::IsDifferentiated(mask);
  const bool ours = typed && fits && dropout == 0.0 && !recorded &&
                    at::globalContext().userEnabledOverrideableSDP();
  return static_cast<std::int64_t>(ours ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

}  // namespace torch_infini::adapters
