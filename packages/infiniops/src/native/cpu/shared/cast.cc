#include "native/cpu/shared/cast.h"

namespace infini::ops::cpu {

void LaunchCast(const char* op, const Context& context, const TensorView& from,
                const TensorView& to) {
  if (to.numel() == 0) return;
  const CastTask task = {.loop = MakeLoop(op, to, from), .dtypes = {from.dtype(), to.dtype()}};
  Launch(context, task);
}

}  // namespace infini::ops::cpu
