// add for the CPU: see src/base/add.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ADD_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ADD_H_

#include "native/cpu/scaled.h"

namespace infini::ops::cpu {

using AddTask = BinaryTask<struct AddTag, ScaledAttributes>;
INFINI_OPS_CPU_KERNEL(AddTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/scaled.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const AddTask& task) {
  RunScaled(task, [](auto a, auto b) { return Add(a, b); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/add.h"

namespace infini::ops {

template <>
struct Operator<Add, Device::Type::kCpu, 0> : cpu::ScaledOperator<Add, cpu::AddTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ADD_H_
