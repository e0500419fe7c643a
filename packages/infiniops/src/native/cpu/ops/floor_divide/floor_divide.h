// floor_divide for the CPU: see src/base/floor_divide.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_FLOOR_DIVIDE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_FLOOR_DIVIDE_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using FloorDivideTask = BinaryTask<struct FloorDivideTag>;
INFINI_OPS_CPU_KERNEL(FloorDivideTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/division.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const FloorDivideTask& task) {
  if (rt::IsInteger(task.dtype)) {
    CheckDivisors("floor_divide", task);
    RunIntegers(task, [](auto a, auto b) { return FloorDivide(a, b); });
  } else {
    RunFloating(task, [](auto a, auto b) { return FloorDivide(a, b); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/floor_divide.h"

namespace infini::ops {

template <>
struct Operator<FloorDivide, Device::Type::kCpu, 0>
    : cpu::BinaryOperator<FloorDivide, cpu::FloorDivideTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_FLOOR_DIVIDE_H_
