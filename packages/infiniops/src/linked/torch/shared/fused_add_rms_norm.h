// fused_add_rms_norm by a provider whose function is (input, residual, weight, eps) in place on
// contiguous rows.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_FUSED_ADD_RMS_NORM_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_FUSED_ADD_RMS_NORM_H_

#include "infini/ops/base/fused_add_rms_norm.h"
#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

struct FusedAddRmsNormTask {
  static constexpr const char* kOperator = FusedAddRmsNorm::kOperator;
  Operand input;
  Operand residual;
  Operand weight;
  double eps;

  template <class Backend>
  void Run() const {
    std::optional<at::Tensor> factor;
    if (weight.given()) factor = ToTensor<Backend>(weight).contiguous();
    Staged rows = Staged::Copied(ToTensor<Backend>(input));
    Staged sums = Staged::Copied(ToTensor<Backend>(residual));
    Backend::Call(rows.tensor(), sums.tensor(), factor, eps);
    rows.CopyBack();
    sums.CopyBack();
  }
};

template <class Backend>
void CallFusedAddRmsNorm(const Context& context, const TensorView& input,
                         const TensorView& residual, const std::optional<TensorView>& weight,
                         double eps) {
  if (input.numel() == 0) return;
  const FusedAddRmsNormTask task = {MakeOperand(input), MakeOperand(residual), MakeOperand(weight),
                                    eps};
  Launch<Backend>(context, task);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_FUSED_ADD_RMS_NORM_H_
