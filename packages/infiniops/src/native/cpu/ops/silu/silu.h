// silu for the CPU: see src/base/silu.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SILU_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SILU_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using SiluTask = UnaryTask<struct SiluTag>;
INFINI_OPS_CPU_KERNEL(SiluTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/activations.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const SiluTask& task) {
  RunFloating(task, [](auto x, auto... rounding) { return Silu(x, rounding...); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/silu.h"

namespace infini::ops {

template <>
struct Operator<Silu, Device::Type::kCpu, 0> : cpu::UnaryOperator<Silu, cpu::SiluTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SILU_H_
