// copy for the CPU: see src/base/copy.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_COPY_H_
#define INFINI_OPS_NATIVE_CPU_OPS_COPY_H_

#include "native/cpu/shared/copy.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/copy.h"

namespace infini::ops {

template <>
struct Operator<Copy, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& out) {
    // The same view, or elements of which each goes to its own place.
    if (out.data() == input.data()) return;
    cpu::LaunchCopy(Copy::kOperator, context, input, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_COPY_H_
