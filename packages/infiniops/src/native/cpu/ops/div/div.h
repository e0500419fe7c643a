// div for the CPU: see src/base/div.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_DIV_H_
#define INFINI_OPS_NATIVE_CPU_OPS_DIV_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using DivTask = BinaryTask<struct DivTag>;
INFINI_OPS_CPU_KERNEL(DivTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const DivTask& task) {
  if (rt::IsComplex(task.dtype)) {
    RunComplex(task, [](auto a, auto b) { return Divide(a, b); });
  } else {
    RunFloating(task, [](auto a, auto b) { return a / b; });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/div.h"

namespace infini::ops {

template <>
struct Operator<Div, Device::Type::kCpu, 0> : cpu::BinaryOperator<Div, cpu::DivTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_DIV_H_
