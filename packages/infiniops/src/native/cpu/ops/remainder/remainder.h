// remainder for the CPU: see src/base/remainder.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_REMAINDER_H_
#define INFINI_OPS_NATIVE_CPU_OPS_REMAINDER_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using RemainderTask = BinaryTask<struct RemainderTag>;
INFINI_OPS_CPU_KERNEL(RemainderTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/division.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const RemainderTask& task) {
  if (rt::IsInteger(task.dtype)) {
    CheckDivisors("remainder", task);
    RunIntegers(task, [](auto a, auto b) { return Remainder(a, b); });
  } else {
    RunFloating(task, [](auto a, auto b) { return Remainder(a, b); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/remainder.h"

namespace infini::ops {

template <>
struct Operator<Remainder, Device::Type::kCpu, 0>
    : cpu::BinaryOperator<Remainder, cpu::RemainderTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_REMAINDER_H_
