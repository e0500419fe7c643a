// cat for the CPU: see src/base/cat.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_CAT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_CAT_H_

#include "native/cpu/shared/copy.h"

#ifndef INFINI_OPS_CPU_ISA

#include "core/check.h"
#include "infini/ops/base/cat.h"
#include "native/cpu/view.h"

namespace infini::ops {

template <>
struct Operator<Cat, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, std::span<const TensorView> tensors, std::int64_t dim,
                   const TensorView& out) {
    const int along = internal::WrapDim(dim, out.rank());
    std::int64_t begin = 0;
    for (const TensorView& tensor : tensors) {
      const std::int64_t size = tensor.size(along);
      cpu::LaunchCopy(Cat::kOperator, context, tensor, cpu::Narrow(out, along, begin, size));
      begin += size;
    }
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_CAT_H_
