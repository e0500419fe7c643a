// gt for the CPU: see src/base/gt.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_GT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_GT_H_

#include "native/cpu/shared/compare.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/gt.h"

namespace infini::ops {

template <>
struct Operator<Gt, Device::Type::kCpu, 0>
    : cpu::CompareOperator<Gt, cpu::Comparison::kLess, true> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_GT_H_
