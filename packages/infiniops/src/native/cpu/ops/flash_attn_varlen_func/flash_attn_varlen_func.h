// flash_attn_varlen_func for the CPU: see src/base/flash_attn_varlen_func.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_VARLEN_FUNC_H_
#define INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_VARLEN_FUNC_H_

#include <string>

#include "infini/ops/base/flash_attn_varlen_func.h"
#include "native/cpu/shared/attention.h"

namespace infini::ops {

template <>
struct Operator<FlashAttnVarlenFunc, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& q, const TensorView& k,
                   const TensorView& v, const TensorView& cu_seqlens_q,
                   const TensorView& cu_seqlens_k, const std::optional<TensorView>& block_table,
                   std::int64_t max_seqlen_q, std::int64_t max_seqlen_k,
                   const std::optional<double>& softmax_scale, bool causal,
                   std::int64_t window_left, std::int64_t window_right, const TensorView& out) {
    cpu::AttentionTask task = {};
    task.op = FlashAttnVarlenFunc::kOperator;
    const int rank = block_table ? 4 : 3;
    if (k.rank() != rank || k.size(-1) != q.size(-1)) {
      Refuse(q, "`k` is " + k.ToString() + "; expected " +
                    (block_table ? "[any, any, any, " : "[any, any, ") +
                    std::to_string(q.size(-1)) + "] " + (block_table ? "with" : "without") +
                    " a `block_table`");
    }
    if (cu_seqlens_q.size(0) == 0) {
      Refuse(q, "`cu_seqlens_q` is empty; expected one entry more than there are sequences");
    }
    cpu::SetHeads(&task, q, q.size(1), k.size(-2), q.size(2), v.size(-1));
    cpu::SetWindow(&task, softmax_scale, causal, window_left, window_right);
    task.bottom_right = true;
    task.batch = cu_seqlens_q.size(0) - 1;
    task.queries = q.size(0);
    task.keys = k.size(0);
    task.query_starts = cpu::MakeIndices(task.op, cu_seqlens_q);
    task.key_starts = cpu::MakeIndices(task.op, cu_seqlens_k);
    task.most_queries = max_seqlen_q;
    task.most_keys = max_seqlen_k;
    if (block_table) cpu::SetPages(&task, *block_table, k.size(0), k.size(1));
    if (out.numel() == 0) task.heads = task.key_heads = 0;  // checks the starts and nothing more
    const int token = rank - 3;
    task.query = cpu::MakeHeads(q, 0, 0, 1);
    task.key = cpu::MakeHeads(k, 0, token, token + 1);
    task.value = cpu::MakeHeads(v, 0, token, token + 1);
    task.out = cpu::MakeHeads(out, 0, 0, 1);
    cpu::Launch(context, task);
  }

 private:
  [[noreturn]] static void Refuse(const TensorView& q, const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, FlashAttnVarlenFunc::kOperator, q.device().ToString(),
                message);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_FLASH_ATTN_VARLEN_FUNC_H_
