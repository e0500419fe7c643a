// rms_norm by a provider whose function is (out, input, weight, eps) on contiguous rows.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_RMS_NORM_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_RMS_NORM_H_

#include "infini/ops/base/rms_norm.h"
#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

struct RmsNormTask {
  static constexpr const char* kOperator = RmsNorm::kOperator;
  Operand input;
  Operand weight;
  Operand out;
  double eps;

  template <class Backend>
  void Run() const {
    at::Tensor source = ToTensor<Backend>(input).contiguous();
    std::optional<at::Tensor> factor;
    if (weight.given()) factor = ToTensor<Backend>(weight).contiguous();
    Staged target(ToTensor<Backend>(out));
    Backend::Call(target.tensor(), source, factor, eps);
    target.CopyBack();
  }
};

template <class Backend>
void CallRmsNorm(const Context& context, const TensorView& input,
                 const std::optional<TensorView>& weight, double eps, const TensorView& out) {
  if (out.numel() == 0) return;
  const RmsNormTask task = {MakeOperand(input), MakeOperand(weight), MakeOperand(out), eps};
  Launch<Backend>(context, task);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_RMS_NORM_H_
