// pow for the CPU: see src/base/pow.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_POW_H_
#define INFINI_OPS_NATIVE_CPU_OPS_POW_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using PowTask = BinaryTask<struct PowTag>;
INFINI_OPS_CPU_KERNEL(PowTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const PowTask& task) {
  if (rt::IsInteger(task.dtype)) {
    RunIntegers(task, [](auto a, auto b) { return IntegerPower(a, b); });
  } else {
    RunFloating(task, [](auto a, auto b) { return Power(a, b); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/pow.h"

namespace infini::ops {

template <>
struct Operator<Pow, Device::Type::kCpu, 0> : cpu::BinaryOperator<Pow, cpu::PowTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_POW_H_
