// sqrt for the CPU: see src/base/sqrt.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SQRT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SQRT_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using SqrtTask = UnaryTask<struct SqrtTag>;
INFINI_OPS_CPU_KERNEL(SqrtTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const SqrtTask& task) {
  RunFloating(task, [](auto x) { return Sqrt(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/sqrt.h"

namespace infini::ops {

template <>
struct Operator<Sqrt, Device::Type::kCpu, 0> : cpu::UnaryOperator<Sqrt, cpu::SqrtTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SQRT_H_
