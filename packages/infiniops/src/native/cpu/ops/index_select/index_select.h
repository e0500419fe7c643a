// index_select for the CPU: see src/base/index_select.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_INDEX_SELECT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_INDEX_SELECT_H_

#include "native/cpu/shared/take.h"

#ifndef INFINI_OPS_CPU_ISA

#include "core/check.h"
#include "infini/ops/base/index_select.h"
#include "native/cpu/view.h"

namespace infini::ops {

template <>
struct Operator<IndexSelect, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& index,
                   std::int64_t dim, const TensorView& out) {
    if (index.numel() == 0) return;
    const int along = internal::WrapDim(dim, input.rank());
    const std::int64_t sizes[] = {index.size(0), 1};
    const bool empty = out.numel() == 0;  // the numbers are checked all the same
    const std::int64_t strides[] = {empty ? 0 : out.stride(along), 1};
    const TensorView& owner = empty ? index : out;
    const TensorView places(owner.data(), sizes, strides, owner.dtype(), owner.device());
    // Slice 0, also of an input without slices: then any number is an error.
    const std::int64_t least = input.size(along) > 0 ? 1 : 0;
    cpu::LaunchTake(IndexSelect::kOperator, context, input, along, "index", index,
                    cpu::Narrow(input, along, 0, least), cpu::Narrow(out, along, 0, least), places);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_INDEX_SELECT_H_
