// ne for the CPU: see src/base/ne.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_NE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_NE_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/ne.h"

namespace infini::ops {

template <>
struct Operator<Ne, Device::Type::kCpu, 0> : cpu::CompareOperator<Ne, cpu::Comparison::kNotEqual> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_NE_H_
