// exp for the CPU: see src/base/exp.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_EXP_H_
#define INFINI_OPS_NATIVE_CPU_OPS_EXP_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using ExpTask = UnaryTask<struct ExpTag>;
INFINI_OPS_CPU_KERNEL(ExpTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const ExpTask& task) {
  RunFloating(task, [](auto x) { return Exp(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/exp.h"

namespace infini::ops {

template <>
struct Operator<Exp, Device::Type::kCpu, 0> : cpu::UnaryOperator<Exp, cpu::ExpTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_EXP_H_
