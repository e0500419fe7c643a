// sin for the CPU: see src/base/sin.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SIN_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SIN_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using SinTask = UnaryTask<struct SinTag>;
INFINI_OPS_CPU_KERNEL(SinTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const SinTask& task) {
  RunFloating(task, [](auto x) { return Sin(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/sin.h"

namespace infini::ops {

template <>
struct Operator<Sin, Device::Type::kCpu, 0> : cpu::UnaryOperator<Sin, cpu::SinTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SIN_H_
