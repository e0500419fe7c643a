// relu for the CPU: see src/base/relu.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RELU_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RELU_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using ReluTask = UnaryTask<struct ReluTag>;
INFINI_OPS_CPU_KERNEL(ReluTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const ReluTask& task) {
  if (rt::IsInteger(task.dtype)) {
    RunIntegers(task, [](auto x) { return x > 0 ? x : decltype(x){}; });
  } else {
    RunFloating(task, [](auto x) { return x < decltype(x){} ? decltype(x){} : x; });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/relu.h"

namespace infini::ops {

template <>
struct Operator<Relu, Device::Type::kCpu, 0> : cpu::UnaryOperator<Relu, cpu::ReluTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RELU_H_
