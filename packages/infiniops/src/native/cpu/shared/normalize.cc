#include "native/cpu/shared/normalize.h"

namespace infini::ops::cpu {
namespace {

Columns MakeColumns(const std::optional<TensorView>& view) {
  if (!view) return {nullptr, 1};
  return {static_cast<const char*>(TaskAddress(*view)), view->size(0) == 1 ? 1 : view->stride(0)};
}

}  // namespace

void LaunchNormalize(const char* op, const Context& context, const NormalizeViews& views,
                     const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
                     bool centered, double eps) {
  if (views.out.numel() == 0) return;
  NormalizeTask task;
  task.input = MakeRows(op, views.input);
  task.other = task.input;
  task.sum = task.input;
  task.other.data = nullptr;
  if (views.other != nullptr) {
    task.other = MakeRows(op, *views.other);
    task.sum = MakeRows(op, *views.sum);
  }
  task.out = MakeRows(op, views.out);
  task.weight = MakeColumns(weight);
  task.bias = MakeColumns(bias);
  task.centered = centered;
  task.eps = eps;
  task.dtype = views.out.dtype();
  Launch(context, task);
}

}  // namespace infini::ops::cpu
