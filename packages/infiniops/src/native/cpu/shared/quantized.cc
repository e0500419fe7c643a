// Fills the tasks of products with weights of few bits from tensors.
#include "native/cpu/shared/quantized.h"

#include <string>

namespace infini::ops::cpu {
namespace {

QuantizedTask MakeTask(const char* op, const TensorView& x, const TensorView& weight,
                       const std::optional<TensorView>& bias, QuantizedTask::Rounding rounding,
                       const TensorView& out) {
  QuantizedTask task;
  task.x = MakeRows(op, x);
  task.out = MakeRows(op, out);
  task.weight = static_cast<const char*>(TaskAddress(weight));
  task.weight_row_stride = weight.stride(0);
  task.weight_inner_stride = weight.stride(-1);
  task.bias = nullptr;
  task.bias_stride = 0;
  if (bias) {
    task.bias = static_cast<const char*>(TaskAddress(*bias));
    task.bias_stride = bias->stride(0);
  }
  task.dtype = out.dtype();
  task.rounding = rounding;
  return task;
}

GroupNumbers NumbersOf(const TensorView& view) {
  return {static_cast<const char*>(TaskAddress(view)), view.stride(0),
          view.rank() > 1 ? view.stride(1) : 0};
}

}  // namespace

void LaunchInt8(const char* op, const Context& context, const TensorView& x,
                const TensorView& weight, const TensorView& scale,
                const std::optional<TensorView>& bias, QuantizedTask::Rounding rounding,
                const TensorView& out) {
  if (out.numel() == 0) return;
  QuantizedTask task = MakeTask(op, x, weight, bias, rounding, out);
  task.weight_group_stride = 0;
  task.group = 0;
  task.scale = NumbersOf(scale);
  task.zero = {nullptr, 0, 0};
  if (weight.size(1) == 1) task.weight_inner_stride = 1;
  Launch(context, task);
}

void LaunchInt4(const char* op, const Context& context, const TensorView& x,
                const TensorView& weight, const TensorView& scale,
                const std::optional<TensorView>& zero, const std::optional<TensorView>& bias,
                QuantizedTask::Rounding rounding, const TensorView& out) {
  const std::int64_t groups = weight.size(1);
  const std::int64_t bytes = weight.size(2);
  if (x.size(-1) != groups * bytes * 2) {
    throw Error(ErrorCode::kInvalidArgument, op, context.device.ToString(),
                "`weight` has " + std::to_string(groups) + " groups of " +
                    std::to_string(bytes * 2) + " numbers in a row; expected " +
                    std::to_string(x.size(-1)) + " numbers, as the last dimension of `input` has");
  }
  if (out.numel() == 0) return;
  QuantizedTask task = MakeTask(op, x, weight, bias, rounding, out);
  task.weight_group_stride = groups == 1 ? bytes : weight.stride(1);
  task.group = bytes == 0 ? 2 : bytes * 2;  // of no numbers any length will do
  task.scale = NumbersOf(scale);
  task.zero = zero ? NumbersOf(*zero) : GroupNumbers{nullptr, 0, 0};
  if (bytes == 1) task.weight_inner_stride = 1;
  Launch(context, task);
}

}  // namespace infini::ops::cpu
