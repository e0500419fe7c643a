// rsqrt for the CPU: see src/base/rsqrt.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RSQRT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RSQRT_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using RsqrtTask = UnaryTask<struct RsqrtTag>;
INFINI_OPS_CPU_KERNEL(RsqrtTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const RsqrtTask& task) {
  RunFloating(task, [](auto x) { return 1.0f / Sqrt(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/rsqrt.h"

namespace infini::ops {

template <>
struct Operator<Rsqrt, Device::Type::kCpu, 0> : cpu::UnaryOperator<Rsqrt, cpu::RsqrtTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RSQRT_H_
