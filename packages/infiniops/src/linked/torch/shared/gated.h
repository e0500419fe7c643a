// Gated operators by a provider whose function is (out, input) on contiguous rows.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_GATED_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_GATED_H_

#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

template <class Op>
struct GatedTask {
  static constexpr const char* kOperator = Op::kOperator;
  Operand input;
  Operand out;

  template <class Backend>
  void Run() const {
    at::Tensor source = ToTensor<Backend>(input).contiguous();
    Staged target(ToTensor<Backend>(out));
    Backend::Call(target.tensor(), source);
    target.CopyBack();
  }
};

template <class Op, class Backend>
void CallGated(const Context& context, const TensorView& input, const TensorView& out) {
  if (out.numel() == 0) return;
  Launch<Backend>(context, GatedTask<Op>{MakeOperand(input), MakeOperand(out)});
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_GATED_H_
