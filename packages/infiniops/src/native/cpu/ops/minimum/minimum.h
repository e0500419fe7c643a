// minimum for the CPU: see src/base/minimum.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_MINIMUM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_MINIMUM_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using MinimumTask = BinaryTask<struct MinimumTag>;
INFINI_OPS_CPU_KERNEL(MinimumTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const MinimumTask& task) {
  if (task.dtype == rt::DataType::kBool) {
    RunElements<Bool>(task, [](Bool a, Bool b) {
      return Bool{static_cast<std::uint8_t>((a.byte != 0) & (b.byte != 0))};
    });
  } else if (rt::IsInteger(task.dtype)) {
    RunIntegers(task, [](auto a, auto b) { return a < b ? a : b; });
  } else {
    RunFloating(task, [](auto a, auto b) { return Minimum(a, b); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/minimum.h"

namespace infini::ops {

template <>
struct Operator<Minimum, Device::Type::kCpu, 0> : cpu::BinaryOperator<Minimum, cpu::MinimumTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_MINIMUM_H_
