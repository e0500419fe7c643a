// eq for the CPU: see src/base/eq.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_EQ_H_
#define INFINI_OPS_NATIVE_CPU_OPS_EQ_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/eq.h"

namespace infini::ops {

template <>
struct Operator<Eq, Device::Type::kCpu, 0> : cpu::CompareOperator<Eq, cpu::Comparison::kEqual> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_EQ_H_
