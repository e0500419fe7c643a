// log_softmax for the CPU: see src/base/log_softmax.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOG_SOFTMAX_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOG_SOFTMAX_H_

#include "native/cpu/shared/softmax.h"

#ifndef INFINI_OPS_CPU_ISA

#include "core/check.h"
#include "infini/ops/base/log_softmax.h"

namespace infini::ops {

template <>
struct Operator<LogSoftmax, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, std::int64_t dim,
                   const TensorView& out) {
    cpu::LaunchSoftmax(LogSoftmax::kOperator, context, input, internal::WrapDim(dim, input.rank()),
                       true, false, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOG_SOFTMAX_H_
