// argmin for the CPU: see src/base/argmin.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ARGMIN_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ARGMIN_H_

#include "native/cpu/shared/reduce.h"

#ifndef INFINI_OPS_CPU_ISA

#include "infini/ops/base/argmin.h"

namespace infini::ops {

template <>
struct Operator<Argmin, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<std::int64_t>& dim, bool, const TensorView& out) {
    const auto dims = dim ? std::span(&*dim, 1) : std::span<const std::int64_t>();
    cpu::LaunchReduce(Argmin::kOperator, context, cpu::Reduction::kLeast, input, dims,
                      {nullptr, &out});
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ARGMIN_H_
