// amin for the CPU: see src/base/amin.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_AMIN_H_
#define INFINI_OPS_NATIVE_CPU_OPS_AMIN_H_

#include "native/cpu/shared/reduce.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/amin.h"

namespace infini::ops {

template <>
struct Operator<Amin, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   std::span<const std::int64_t> dim, bool, const TensorView& out) {
    cpu::LaunchReduce(Amin::kOperator, context, cpu::Reduction::kLeast, input, dim,
                      {&out, nullptr});
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_AMIN_H_
