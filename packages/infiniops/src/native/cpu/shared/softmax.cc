#include "native/cpu/shared/softmax.h"

#include "native/cpu/view.h"

namespace infini::ops::cpu {

void LaunchSoftmax(const char* op, const Context& context, const TensorView& input, int dim,
                   bool logarithm, bool causal, const TensorView& out) {
  if (out.numel() == 0) return;
  SoftmaxTask task;
  task.input = MakeRows(op, WithLast(input, dim));
  task.out = MakeRows(op, WithLast(out, dim));
  task.logarithm = logarithm;
  task.queries = causal ? input.size(-2) : 0;
  task.dtype = out.dtype();
  Launch(context, task);
}

}  // namespace infini::ops::cpu
