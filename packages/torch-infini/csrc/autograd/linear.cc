#include "autograd/linear.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/custom_function.h>

#include "autograd/requires_grad.h"

namespace torch_infini::autograd {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor Rows(const at::Tensor& tensor) {
  return tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor.flatten(0, -2);
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.has_value() && bias->defined();
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::linear(input, weight, bias);
  }

  // Products with transposed matrices are `linear` again: its weight is
  // transposed already.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& input = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& gradient = gradients[0];
    variable_list results(3);
    if (!gradient.defined()) return results;
    if (context->needs_input_grad(0)) results[0] = at::linear(gradient, weight.t());
    if (context->needs_input_grad(1)) {
      results[1] = at::linear(Rows(gradient).t(), Rows(input).t());
    }
    // An absent tensor has no number.
    const bool has_bias = context->saved_data["has_bias"].toBool();
    if (has_bias && context->needs_input_grad(2)) results[2] = Rows(gradient).sum(0);
    return results;
  }
};

}  // namespace

at::Tensor Linear(const at::Tensor& input, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias) {
  if (IsDual(input) || IsDual(weight) || IsDual(bias)) {
    const at::Tensor product = at::matmul(input, weight.t());
    return bias.has_value() && bias->defined() ? at::add(product, *bias) : product;
  }
  if (IsDifferentiated(input) || IsDifferentiated(weight) || IsDifferentiated(bias)) {
    return LinearFunction::apply(input, weight, bias);
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  return at::linear(input, weight, bias);
}

}  // namespace torch_infini::autograd
