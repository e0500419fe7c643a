// flash_attn_with_kvcache for the CPU: see src/base/flash_attn_with_kvcache.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_WITH_KVCACHE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_WITH_KVCACHE_H_

#include <string>

#include "infini/ops/base/flash_attn_with_kvcache.h"
#include "native/cpu/shared/attention.h"

namespace infini::ops {

template <>
struct Operator<FlashAttnWithKvcache, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& q, const TensorView& k_cache,
                   const TensorView& v_cache, const std::optional<TensorView>& k,
                   const std::optional<TensorView>& v,
                   const std::optional<TensorView>& cache_seqlens,
                   const std::optional<TensorView>& cache_batch_idx,
                   const std::optional<TensorView>& block_table,
                   const std::optional<double>& softmax_scale, bool causal,
                   std::int64_t window_left, std::int64_t window_right, const TensorView& out) {
    if (k.has_value() != v.has_value() || (k && k->size(1) != v->size(1))) {
      Refuse(q, "`k` and `v` go together: give as many new values as new keys");
    }
    if (k && !cache_seqlens) {
      Refuse(q, "`k` is given without `cache_seqlens`, so it is not known where it goes");
    }
    if (block_table && cache_batch_idx) {
      Refuse(q, "`block_table` and `cache_batch_idx` exclude each other: pages have no rows");
    }
    cpu::AttentionTask task = {};
    task.op = FlashAttnWithKvcache::kOperator;
    cpu::SetHeads(&task, q, q.size(2), k_cache.size(2), q.size(3), v_cache.size(3));
    cpu::SetWindow(&task, softmax_scale, causal, window_left, window_right);
    task.bottom_right = true;
    task.batch = q.size(0);
    task.queries = q.size(1);
    task.keys = k_cache.size(1);
    task.cache_row_count = k_cache.size(0);
    if (block_table) {
      cpu::SetPages(&task, *block_table, k_cache.size(0), k_cache.size(1));
    } else if (!cache_batch_idx && task.batch > task.cache_row_count) {
      Refuse(q, "`q` has " + std::to_string(task.batch) + " sequences, but `k_cache` has " +
                    std::to_string(task.cache_row_count) + " rows");
    }
    if (cache_seqlens) task.lengths = cpu::MakeIndices(task.op, *cache_seqlens);
    task.lengths_name = "cache_seqlens";
    if (cache_batch_idx) task.cache_rows = cpu::MakeIndices(task.op, *cache_batch_idx);
    task.query = cpu::MakeHeads(q, 0, 1, 2);
    task.key = cpu::MakeHeads(k_cache, 0, 1, 2);
    task.value = cpu::MakeHeads(v_cache, 0, 1, 2);
    task.out = cpu::MakeHeads(out, 0, 1, 2);
    if (k && k->numel() + v->numel() > 0) {
      task.new_key = cpu::MakeHeads(*k, 0, 1, 2);
      task.new_value = cpu::MakeHeads(*v, 0, 1, 2);
      task.appended = k->size(1);
    }
    if (task.batch == 0 || task.key_heads == 0) return;
    cpu::Launch(context, task);
  }

 private:
  [[noreturn]] static void Refuse(const TensorView& q, const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, FlashAttnWithKvcache::kOperator, q.device().ToString(),
                message);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_WITH_KVCACHE_H_
