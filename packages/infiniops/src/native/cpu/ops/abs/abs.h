// abs for the CPU: see src/base/abs.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ABS_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ABS_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using AbsTask = UnaryTask<struct AbsTag>;
INFINI_OPS_CPU_KERNEL(AbsTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const AbsTask& task) {
  if (rt::IsInteger(task.dtype)) {
    RunIntegers(task, [](auto x) {
      return x < 0 ? static_cast<decltype(x)>(Wrapping<decltype(x)>{0} -
                                              static_cast<Wrapping<decltype(x)>>(x))
                   : x;
    });
  } else {
    RunSignBits(task, [](auto bits, auto sign) { return bits & ~sign; });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/abs.h"

namespace infini::ops {

template <>
struct Operator<Abs, Device::Type::kCpu, 0> : cpu::UnaryOperator<Abs, cpu::AbsTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ABS_H_
