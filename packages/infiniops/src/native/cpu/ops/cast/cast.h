// cast for the CPU: see src/base/cast.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_CAST_H_
#define INFINI_OPS_NATIVE_CPU_OPS_CAST_H_

#include "native/cpu/shared/cast.h"
#include "native/cpu/shared/copy.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/cast.h"

namespace infini::ops {

template <>
struct Operator<Cast, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, DataType dtype,
                   const TensorView& out) {
    if (dtype == input.dtype()) {
      if (out.data() != input.data()) cpu::LaunchCopy(Cast::kOperator, context, input, out);
    } else {
      cpu::LaunchCast(Cast::kOperator, context, input, out);
    }
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_CAST_H_
