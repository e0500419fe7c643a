// Attention by a provider that takes PyTorch's tensors and gives its result in one of its own. What
// says where to read (lengths, rows, pages) lies on the device, where the host cannot look without
// waiting; it is brought inside its bounds, so that nothing outside the cache is read.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_FLASH_ATTENTION_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_FLASH_ATTENTION_H_

#include <cmath>

#include "infini/ops/base/flash_attn_varlen_func.h"
#include "infini/ops/base/flash_attn_with_kvcache.h"
#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

/// What both operators say about the products.
struct AttentionRule {
  float scale;
  bool causal;
  int window_left;
  int window_right;
};

inline AttentionRule MakeAttentionRule(std::optional<double> scale, std::int64_t head_size,
                                       bool causal, std::int64_t window_left,
                                       std::int64_t window_right) {
  const double given = scale.value_or(1.0 / std::sqrt(static_cast<double>(head_size)));
  return {static_cast<float>(given), causal, static_cast<int>(window_left),
          static_cast<int>(window_right)};
}

/// A tensor whose last dimension is contiguous.
template <class Backend>
at::Tensor ToRows(const Operand& operand) {
  at::Tensor tensor = ToTensor<Backend>(operand);
  return tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

/// Numbers of type int32 in [0, `greatest`].
template <class Backend>
at::Tensor ToNumbers(const Operand& operand, std::int64_t greatest) {
  return ToTensor<Backend>(operand).clamp(0, greatest).to(at::kInt).contiguous();
}

struct FlashAttnWithKvcacheTask {
  static constexpr const char* kOperator = FlashAttnWithKvcache::kOperator;
  Operand q;
  Operand k_cache;
  Operand v_cache;
  Operand k;
  Operand v;
  Operand lengths;
  Operand rows;
  Operand pages;
  Operand out;
  AttentionRule rule;

  template <class Backend>
  void Run() const {
    at::Tensor queries = ToRows<Backend>(q);
    const at::Tensor keys = ToTensor<Backend>(k_cache);
    const at::Tensor values = ToTensor<Backend>(v_cache);
    std::optional<const at::Tensor> new_keys, new_values, row_numbers;
    if (k.given()) new_keys.emplace(ToRows<Backend>(k));
    if (v.given()) new_values.emplace(ToRows<Backend>(v));
    if (rows.given()) row_numbers.emplace(ToNumbers<Backend>(rows, keys.size(0) - 1));
    std::optional<at::Tensor> table;
    std::int64_t room = keys.size(1);
    if (pages.given()) {
      table = ToNumbers<Backend>(pages, keys.size(0) - 1);
      room *= table->size(1);
    }
    if (k.given()) room -= k.sizes[1];
    std::optional<const at::Tensor> counts(
        lengths.given() ? ToNumbers<Backend>(lengths, room)
                        : at::full({queries.size(0)}, room, queries.options().dtype(at::kInt)));
    ToTensor<Backend>(out).copy_(Backend::WithKvcache(queries, keys, values, new_keys, new_values,
                                                      counts, row_numbers, table, rule));
  }
};

struct FlashAttnVarlenTask {
  static constexpr const char* kOperator = FlashAttnVarlenFunc::kOperator;
  Operand q;
  Operand k;
  Operand v;
  Operand query_starts;
  Operand key_starts;
  Operand pages;
  Operand out;
  std::int64_t most_queries;
  std::int64_t most_keys;
  AttentionRule rule;

  template <class Backend>
  void Run() const {
    at::Tensor queries = ToRows<Backend>(q);
    const at::Tensor keys = ToRows<Backend>(k);
    const at::Tensor values = ToRows<Backend>(v);
    std::optional<at::Tensor> table;
    std::int64_t room = keys.size(0);
    if (pages.given()) {
      table = ToNumbers<Backend>(pages, keys.size(0) - 1);
      room = keys.size(1) * table->size(1);
    }
    // With pages, starts count the keys of all sequences, and each has `room`.
    const std::int64_t all = pages.given() ? room * (key_starts.sizes[0] - 1) : room;
    const at::Tensor starts = ToNumbers<Backend>(query_starts, queries.size(0));
    const at::Tensor begins = ToNumbers<Backend>(key_starts, all);
    const auto most = [](std::int64_t given, std::int64_t bound) {
      return static_cast<int>(given < 0 || given > bound ? bound : given);
    };
    ToTensor<Backend>(out).copy_(Backend::Varlen(queries, keys, values, starts, begins, table,
                                                 most(most_queries, queries.size(0)),
                                                 most(most_keys, room), rule));
  }
};

/// Whether FlashAttention 2 has kernels for these tensors.
inline Support SupportsFlashAttention(const TensorView& q, const TensorView& k, const TensorView& v,
                                      const std::optional<TensorView>& block_table) {
  if (q.dtype() != DataType::kFloat16 && q.dtype() != DataType::kBFloat16) {
    return Support::No(std::string("it has no kernel for ") + rt::DataTypeName(q.dtype()));
  }
  const std::int64_t size = q.size(-1);
  if (size != v.size(-1) || size % 8 != 0 || size > 256) {
    return Support::No(
        "it takes heads of a multiple of 8 up to 256 elements, alike for keys and "
        "values; got " +
        std::to_string(size) + " and " + std::to_string(v.size(-1)));
  }
  if (k.stride(-1) != 1 || v.stride(-1) != 1) {
    return Support::No("it takes keys and values whose last dimension is contiguous");
  }
  if (block_table && k.size(1) % 256 != 0) {
    return Support::No("it takes pages of a multiple of 256 keys, got " +
                       std::to_string(k.size(1)));
  }
  return Support::Yes();
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_FLASH_ATTENTION_H_
