#include "native/cpu/shared/compare.h"

namespace infini::ops::cpu {

void LaunchCompare(const char* op, const Context& context, Comparison what, const TensorView& input,
                   const TensorView& other, const TensorView& out) {
  LaunchPointwise<CompareTask>(op, context, input.dtype(), what, out, input, other);
}

}  // namespace infini::ops::cpu
