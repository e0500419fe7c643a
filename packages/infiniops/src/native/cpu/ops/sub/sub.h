// sub for the CPU: see src/base/sub.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SUB_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SUB_H_

#include "native/cpu/scaled.h"

namespace infini::ops::cpu {

using SubTask = BinaryTask<struct SubTag, ScaledAttributes>;
INFINI_OPS_CPU_KERNEL(SubTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/scaled.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const SubTask& task) {
  RunScaled(task, [](auto a, auto b) { return Subtract(a, b); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/sub.h"

namespace infini::ops {

template <>
struct Operator<Sub, Device::Type::kCpu, 0> : cpu::ScaledOperator<Sub, cpu::SubTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SUB_H_
