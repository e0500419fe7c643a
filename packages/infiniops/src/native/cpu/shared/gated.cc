#include "native/cpu/shared/gated.h"

#include "native/cpu/view.h"

namespace infini::ops::cpu {

void LaunchGated(const char* op, const Context& context, Activation activation,
                 const TensorView& gate, const TensorView& up, const TensorView& out) {
  LaunchPointwise<GatedTask>(op, context, out.dtype(), activation, out, gate, up);
}

void LaunchGatedHalves(const char* op, const Context& context, Activation activation,
                       const TensorView& input, const TensorView& out) {
  const int last = input.rank() - 1;
  const std::int64_t half = input.size(last) / 2;
  LaunchGated(op, context, activation, Narrow(input, last, 0, half),
              Narrow(input, last, half, half), out);
}

}  // namespace infini::ops::cpu
