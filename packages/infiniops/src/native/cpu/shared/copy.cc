#include "native/cpu/shared/copy.h"

namespace infini::ops::cpu {

void LaunchCopy(const char* op, const Context& context, const TensorView& from,
                const TensorView& to) {
  if (to.numel() == 0) return;
  const CopyTask task = {.loop = MakeLoop(op, to, from),
                         .size = static_cast<std::int64_t>(rt::DataTypeSize(to.dtype()))};
  Launch(context, task);
}

}  // namespace infini::ops::cpu
