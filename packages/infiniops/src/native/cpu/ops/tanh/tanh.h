// tanh for the CPU: see src/base/tanh.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_TANH_H_
#define INFINI_OPS_NATIVE_CPU_OPS_TANH_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using TanhTask = UnaryTask<struct TanhTag>;
INFINI_OPS_CPU_KERNEL(TanhTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const TanhTask& task) {
  RunFloating(task, [](auto x) { return Tanh(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/tanh.h"

namespace infini::ops {

template <>
struct Operator<Tanh, Device::Type::kCpu, 0> : cpu::UnaryOperator<Tanh, cpu::TanhTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_TANH_H_
