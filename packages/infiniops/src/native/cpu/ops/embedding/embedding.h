// embedding for the CPU: see src/base/embedding.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_EMBEDDING_H_
#define INFINI_OPS_NATIVE_CPU_OPS_EMBEDDING_H_

#include "native/cpu/shared/take.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/embedding.h"

namespace infini::ops {

template <>
struct Operator<Embedding, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const TensorView& out) {
    if (input.numel() == 0) return;
    // Row 0, also of a table without rows: then any number is an error.
    const std::int64_t columns[] = {weight.size(0) > 0 ? weight.size(1) : 0};
    const std::int64_t from[] = {weight.stride(1)};
    const std::int64_t to[] = {out.stride(-1)};
    const TensorView in_slice(weight.data(), columns, from, weight.dtype(), weight.device());
    const TensorView out_slice(out.data(), columns, to, out.dtype(), out.device());
    cpu::LaunchTake(Embedding::kOperator, context, weight, 0, "input", input, in_slice, out_slice,
                    out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_EMBEDDING_H_
