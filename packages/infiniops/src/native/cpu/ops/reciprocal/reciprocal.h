// reciprocal for the CPU: see src/base/reciprocal.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RECIPROCAL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RECIPROCAL_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using ReciprocalTask = UnaryTask<struct ReciprocalTag>;
INFINI_OPS_CPU_KERNEL(ReciprocalTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const ReciprocalTask& task) {
  RunFloating(task, [](auto x) { return 1.0f / x; });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/reciprocal.h"

namespace infini::ops {

template <>
struct Operator<Reciprocal, Device::Type::kCpu, 0>
    : cpu::UnaryOperator<Reciprocal, cpu::ReciprocalTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RECIPROCAL_H_
