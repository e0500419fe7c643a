// sigmoid for the CPU: see src/base/sigmoid.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SIGMOID_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SIGMOID_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using SigmoidTask = UnaryTask<struct SigmoidTag>;
INFINI_OPS_CPU_KERNEL(SigmoidTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/activations.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const SigmoidTask& task) {
  RunFloating(task, [](auto x, auto... rounding) { return Sigmoid(x, rounding...); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/sigmoid.h"

namespace infini::ops {

template <>
struct Operator<Sigmoid, Device::Type::kCpu, 0> : cpu::UnaryOperator<Sigmoid, cpu::SigmoidTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SIGMOID_H_
