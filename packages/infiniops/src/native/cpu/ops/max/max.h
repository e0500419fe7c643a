// max for the CPU: see src/base/max.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_MAX_H_
#define INFINI_OPS_NATIVE_CPU_OPS_MAX_H_

#include "native/cpu/shared/reduce.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/max.h"

namespace infini::ops {

template <>
struct Operator<Max, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, std::int64_t dim, bool,
                   const TensorView& values, const TensorView& indices) {
    cpu::LaunchReduce(Max::kOperator, context, cpu::Reduction::kGreatest, input, std::span(&dim, 1),
                      {&values, &indices});
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_MAX_H_
