// Operators that compute each element of one output from the same element of their inputs: all that
// they share.
#ifndef INFINI_OPS_NATIVE_CPU_POINTWISE_H_
#define INFINI_OPS_NATIVE_CPU_POINTWISE_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// For tasks without attributes.
struct NoAttributes {};

/// The task of such an operator; `Tag` tells the tasks of different operators apart. `dtype` is the
/// inputs', `attributes` what the kernel needs beside the elements.
template <class Tag, int kInputs, class Attributes_ = NoAttributes>
struct PointwiseTask {
  using Attributes = Attributes_;
  StridedLoop<1 + kInputs> loop;
  rt::DataType dtype;
  Attributes attributes;
};

template <class Tag, class Attributes = NoAttributes>
using UnaryTask = PointwiseTask<Tag, 1, Attributes>;
template <class Tag, class Attributes = NoAttributes>
using BinaryTask = PointwiseTask<Tag, 2, Attributes>;

#ifndef INFINI_OPS_CPU_ISA

/// Queues a `Task` that writes `out`, to which `inputs` broadcast.
template <class Task, typename... Inputs>
void LaunchPointwise(const char* op, const Context& context, rt::DataType dtype,
                     const typename Task::Attributes& attributes, const TensorView& out,
                     const Inputs&... inputs) {
  if (out.numel() == 0) return;
  const Task task = {
      .loop = MakeLoop(op, out, inputs...), .dtype = dtype, .attributes = attributes};
  Launch(context, task);
}

/// The implementation of an operator of one input without attributes.
template <class Op, class Task>
struct UnaryOperator {
  static void Call(const Context& context, const TensorView& input, const TensorView& out) {
    LaunchPointwise<Task>(Op::kOperator, context, input.dtype(), {}, out, input);
  }
};

/// The implementation of an operator of two inputs without attributes.
template <class Op, class Task>
struct BinaryOperator {
  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
    LaunchPointwise<Task>(Op::kOperator, context, input.dtype(), {}, out, input, other);
  }
};

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_POINTWISE_H_
