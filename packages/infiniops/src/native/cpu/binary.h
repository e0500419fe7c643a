// Elementwise operators of two inputs without attributes: all that they share.
#ifndef INFINI_OPS_NATIVE_CPU_BINARY_H_
#define INFINI_OPS_NATIVE_CPU_BINARY_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// The task of such an operator; `Tag` tells the tasks of different operators apart.
template <class Tag>
struct BinaryTask {
  StridedLoop<3> loop;
  rt::DataType dtype;
};

#ifndef INFINI_OPS_CPU_ISA

/// Queues a `BinaryTask` that writes `out`, to which `input` and `other` broadcast.
template <class Task>
void LaunchBinary(const char* op, const Context& context, const TensorView& input,
                  const TensorView& other, const TensorView& out) {
  if (out.numel() == 0) return;
  const Task task = {.loop = MakeLoop(op, out, input, other), .dtype = out.dtype()};
  Launch(context, task);
}

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_BINARY_H_
