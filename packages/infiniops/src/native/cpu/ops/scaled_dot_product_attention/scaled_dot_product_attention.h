// scaled_dot_product_attention for the CPU: see src/base/scaled_dot_product_attention.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SCALED_DOT_PRODUCT_ATTENTION_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SCALED_DOT_PRODUCT_ATTENTION_H_

#include <string>

#include "infini/ops/base/scaled_dot_product_attention.h"
#include "native/cpu/shared/attention.h"

namespace infini::ops {

template <>
struct Operator<ScaledDotProductAttention, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& query, const TensorView& key,
                   const TensorView& value, const std::optional<TensorView>& attn_mask,
                   bool is_causal, const std::optional<double>& scale, const TensorView& out) {
    cpu::AttentionTask task = {};
    task.op = ScaledDotProductAttention::kOperator;
    cpu::SetHeads(&task, query, query.size(-3), key.size(-3), query.size(-1), value.size(-1));
    cpu::SetWindow(&task, scale, is_causal, -1, -1);
    task.batch = query.rank() == 4 ? query.size(0) : 1;
    task.queries = query.size(-2);
    task.keys = key.size(-2);
    if (attn_mask) task.mask = MakeMask(*attn_mask, query, task);
    if (out.numel() == 0) return;
    task.query = MakeHeads(query);
    task.key = MakeHeads(key);
    task.value = MakeHeads(value);
    task.out = MakeHeads(out);
    cpu::Launch(context, task);
  }

 private:
  static cpu::Heads MakeHeads(const TensorView& view) {
    cpu::Heads heads = cpu::MakeHeads(view, 0, view.rank() - 2, view.rank() - 3);
    if (view.rank() == 3) heads.batch = 0;
    return heads;
  }

  static cpu::AttentionMask MakeMask(const TensorView& mask, const TensorView& query,
                                     const cpu::AttentionTask& task) {
    if (mask.dtype() != DataType::kBool && mask.dtype() != DataType::kFloat32 &&
        mask.dtype() != query.dtype()) {
      throw Error(ErrorCode::kTypeMismatch, task.op, query.device().ToString(),
                  "`attn_mask` has dtype " + std::string(rt::DataTypeName(mask.dtype())) +
                      "; expected bool, float32 or the dtype of `query`, " +
                      rt::DataTypeName(query.dtype()));
    }
    const std::int64_t sizes[] = {task.batch, task.heads, task.queries, task.keys};
    cpu::AttentionMask made = {.data = static_cast<const char*>(cpu::TaskAddress(mask)),
                               .strides = {},
                               .dtype = mask.dtype()};
    bool fits = mask.rank() <= query.rank();
    for (int dim = 0; fits && dim < mask.rank(); ++dim) {
      const int at = 4 - mask.rank() + dim;
      if (mask.size(dim) == 1) continue;
      made.strides[at] = mask.stride(dim);
      fits = mask.size(dim) == sizes[at];
    }
    if (!fits) {
      std::string wanted = query.rank() == 4 ? std::to_string(task.batch) + ", " : "";
      throw Error(ErrorCode::kInvalidArgument, task.op, query.device().ToString(),
                  "`attn_mask` is " + mask.ToString() + "; expected a shape that broadcasts to [" +
                      wanted + std::to_string(task.heads) + ", " + std::to_string(task.queries) +
                      ", " + std::to_string(task.keys) + "]");
    }
    return made;
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SCALED_DOT_PRODUCT_ATTENTION_H_
