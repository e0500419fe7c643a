// amax for the CPU: see src/base/amax.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_AMAX_H_
#define INFINI_OPS_NATIVE_CPU_OPS_AMAX_H_

#include "native/cpu/shared/reduce.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/amax.h"

namespace infini::ops {

template <>
struct Operator<Amax, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   std::span<const std::int64_t> dim, bool, const TensorView& out) {
    cpu::LaunchReduce(Amax::kOperator, context, cpu::Reduction::kGreatest, input, dim,
                      {&out, nullptr});
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_AMAX_H_
