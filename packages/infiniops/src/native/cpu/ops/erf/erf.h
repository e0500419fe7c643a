// erf for the CPU: see src/base/erf.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ERF_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ERF_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using ErfTask = UnaryTask<struct ErfTag>;
INFINI_OPS_CPU_KERNEL(ErfTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/activations.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const ErfTask& task) {
  RunFloating(task, [](auto x, auto... rounding) { return Erf(x, rounding...); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/erf.h"

namespace infini::ops {

template <>
struct Operator<Erf, Device::Type::kCpu, 0> : cpu::UnaryOperator<Erf, cpu::ErfTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ERF_H_
