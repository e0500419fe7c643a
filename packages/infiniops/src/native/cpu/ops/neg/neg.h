// neg for the CPU: see src/base/neg.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_NEG_H_
#define INFINI_OPS_NATIVE_CPU_OPS_NEG_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using NegTask = UnaryTask<struct NegTag>;
INFINI_OPS_CPU_KERNEL(NegTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const NegTask& task) {
  if (rt::IsInteger(task.dtype)) {
    RunIntegersBySize(
        task, [](auto x) { return static_cast<decltype(x)>(Wrapping<decltype(x)>{0} - x); });
  } else if (rt::IsComplex(task.dtype)) {
    RunComplex(task, [](auto x) { return decltype(x){-x.re, -x.im}; });
  } else {
    RunSignBits(task, [](auto bits, auto sign) { return bits ^ sign; });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/neg.h"

namespace infini::ops {

template <>
struct Operator<Neg, Device::Type::kCpu, 0> : cpu::UnaryOperator<Neg, cpu::NegTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_NEG_H_
