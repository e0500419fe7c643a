// ge for the CPU: see src/base/ge.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_GE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_GE_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/ge.h"

namespace infini::ops {

template <>
struct Operator<Ge, Device::Type::kCpu, 0>
    : cpu::CompareOperator<Ge, cpu::Comparison::kLessEqual, true> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_GE_H_
