// cos for the CPU: see src/base/cos.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_COS_H_
#define INFINI_OPS_NATIVE_CPU_OPS_COS_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using CosTask = UnaryTask<struct CosTag>;
INFINI_OPS_CPU_KERNEL(CosTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const CosTask& task) {
  RunFloating(task, [](auto x) { return Cos(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/cos.h"

namespace infini::ops {

template <>
struct Operator<Cos, Device::Type::kCpu, 0> : cpu::UnaryOperator<Cos, cpu::CosTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_COS_H_
