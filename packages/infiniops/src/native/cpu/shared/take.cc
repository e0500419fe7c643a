#include "native/cpu/shared/take.h"

namespace infini::ops::cpu {

void LaunchTake(const char* op, const Context& context, const TensorView& input, int dim,
                const char* indices_name, const TensorView& indices, const TensorView& in_slice,
                const TensorView& out_slice, const TensorView& places) {
  if (indices.numel() == 0) return;
  const auto size = static_cast<std::int64_t>(rt::DataTypeSize(input.dtype()));
  const TakeTask task = {.op = op,
                         .indices_name = indices_name,
                         .slice = MakeLoop(op, out_slice, in_slice),
                         .indices = MakeIndices(op, indices),
                         .places = MakeRows(op, places),
                         .in_step = input.stride(dim) * size,
                         .slices = input.size(dim),
                         .size = size};
  Launch(context, task);
}

}  // namespace infini::ops::cpu
