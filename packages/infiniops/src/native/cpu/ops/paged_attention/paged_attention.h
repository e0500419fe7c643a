// paged_attention for the CPU: see src/base/paged_attention.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_PAGED_ATTENTION_H_
#define INFINI_OPS_NATIVE_CPU_OPS_PAGED_ATTENTION_H_

#include <string>

#include "infini/ops/base/paged_attention.h"
#include "native/cpu/shared/attention.h"

namespace infini::ops {

template <>
struct Operator<PagedAttention, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& query, const TensorView& key_cache,
                   const TensorView& value_cache, const TensorView& block_tables,
                   const TensorView& seq_lens, const std::optional<double>& scale,
                   const TensorView& out) {
    const std::int64_t split = key_cache.size(4);
    if (key_cache.size(2) * split != query.size(2)) {
      throw Error(ErrorCode::kInvalidArgument, PagedAttention::kOperator, query.device().ToString(),
                  "`key_cache` has keys of " + std::to_string(key_cache.size(2)) + " times " +
                      std::to_string(split) + " elements, but queries have " +
                      std::to_string(query.size(2)));
    }
    cpu::AttentionTask task = {};
    task.op = PagedAttention::kOperator;
    cpu::SetHeads(&task, query, query.size(1), key_cache.size(1), query.size(2),
                  value_cache.size(2));
    cpu::SetWindow(&task, scale, false, -1, -1);
    task.bottom_right = true;
    task.batch = query.size(0);
    task.queries = 1;
    if (task.batch == 0 || task.key_heads == 0) return;
    cpu::SetPages(&task, block_tables, key_cache.size(0), key_cache.size(3));
    task.lengths = cpu::MakeIndices(task.op, seq_lens);
    task.lengths_name = "seq_lens";
    task.query = cpu::MakeHeads(query, 0, 0, 1);
    task.key = cpu::MakeHeads(key_cache, 0, 3, 1);
    task.key.split = split > 0 ? split : 1;
    task.key.split_stride = key_cache.stride(2);
    task.value = cpu::MakeHeads(value_cache, 0, 3, 1);
    task.value.element = value_cache.stride(2);
    task.value.split = task.value_size > 0 ? task.value_size : 1;
    task.out = cpu::MakeHeads(out, 0, 0, 1);
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_PAGED_ATTENTION_H_
