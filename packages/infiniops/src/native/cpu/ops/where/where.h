// where for the CPU: see src/base/where.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_WHERE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_WHERE_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using WhereTask = PointwiseTask<struct WhereTag, 3>;
INFINI_OPS_CPU_KERNEL(WhereTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// The block of elements as large as `Word`.
template <typename Word>
void WhereBlock(const char* const* inputs, char* out, std::int64_t count, const void*) {
  const auto* condition = reinterpret_cast<const std::uint8_t*>(inputs[0]);
  const auto* yes = reinterpret_cast<const Word*>(inputs[1]);
  const auto* no = reinterpret_cast<const Word*>(inputs[2]);
  auto* to = reinterpret_cast<Word*>(out);
  INFINI_OPS_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const Word a = yes[i];
    const Word b = no[i];
    to[i] = condition[i] != 0 ? a : b;
  }
}

void Run(const WhereTask& task) {
  VisitElementSize(rt::DataTypeSize(task.dtype), [&task]<typename Word>(Type<Word>) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Word));
    RunBlocks(task.loop, {kSize, 1, kSize, kSize}, &WhereBlock<Word>, nullptr);
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/where.h"

namespace infini::ops {

template <>
struct Operator<Where, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& condition, const TensorView& input,
                   const TensorView& other, const TensorView& out) {
    cpu::LaunchPointwise<cpu::WhereTask>(Where::kOperator, context, out.dtype(), {}, out, condition,
                                         input, other);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_WHERE_H_
