#include "native/cpu/shared/logical.h"

namespace infini::ops::cpu {

void LaunchLogical(const char* op, const Context& context, Logic what, const TensorView& input,
                   const TensorView& other, const TensorView& out) {
  LaunchPointwise<LogicalTask>(op, context, input.dtype(), what, out, input, other);
}

}  // namespace infini::ops::cpu
