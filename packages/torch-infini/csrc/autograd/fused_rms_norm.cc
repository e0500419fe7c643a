#include "autograd/fused_rms_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/rms_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "autograd/requires_grad.h"
#include "ops/adapters/fused_rms_norm.h"
#include "ops/adapters/normalization.h"

namespace torch_infini::autograd {
namespace {

using adapters::WideType;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNormFunction : torch::autograd::Function<RmsNormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            c10::IntArrayRef normalized_shape,
                            const std::optional<at::Tensor>& weight, std::optional<double> eps) {
    context->save_for_backward({input, weight.value_or(at::Tensor())});
    context->saved_data["dims"] = static_cast<std::int64_t>(normalized_shape.size());
    context->saved_data["eps"] = eps.value_or(adapters::DefaultEpsilon(input.scalar_type()));
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::rms_norm(input, normalized_shape, weight, eps);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& gradient = gradients[0];
    variable_list results(4);
    if (!gradient.defined()) return results;
    const c10::ScalarType type = WideType(saved[0].scalar_type());
    const at::Tensor input = saved[0].to(type);
    const at::Tensor outer = gradient.to(type);
    const std::int64_t kept = input.dim() - context->saved_data["dims"].toInt();
    const std::vector<std::int64_t> normalized = Range(kept, input.dim());

    const at::Tensor scale =
        adapters::ReciprocalRoot(input, normalized, context->saved_data["eps"].toDouble());
    const at::Tensor unit = input * scale;
    if (context->needs_input_grad(0)) {
      const at::Tensor inner = saved[1].defined() ? outer * saved[1].to(type) : outer;
      const at::Tensor along = (inner * unit).mean(normalized, /*keepdim=*/true);
      results[0] = ((inner - unit * along) * scale).to(saved[0].scalar_type());
    }
    // Tensors alone are numbered.
    if (saved[1].defined() && context->needs_input_grad(1)) {
      const at::Tensor product = outer * unit;
      results[2] = (kept == 0 ? product : product.sum(Range(0, kept))).to(saved[1].scalar_type());
    }
    return results;
  }
};

}  // namespace

at::Tensor RmsNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                   const std::optional<at::Tensor>& weight, std::optional<double> eps) {
  if (IsDual(input) || IsDual(weight)) {
    return adapters::ComposedRmsNorm(input, normalized_shape, weight, eps);
  }
  if (IsDifferentiated(input) || IsDifferentiated(weight)) {
    return RmsNormFunction::apply(input, normalized_shape, weight, eps);
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  return at::rms_norm(input, normalized_shape, weight, eps);
}

std::tuple<at::Tensor, at::Tensor> FusedRmsNorm(const at::Tensor& input,
                                                c10::IntArrayRef normalized_shape,
                                                const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps) {
  if (!IsDifferentiated(input) && !IsDifferentiated(weight)) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::_fused_rms_norm(input, normalized_shape, weight, eps);
  }
  const at::Tensor result = RmsNorm(input, normalized_shape, weight, eps);
  const at::AutoDispatchBelowADInplaceOrView below;
  const c10::ScalarType type = input.scalar_type();
  return {result, adapters::ReciprocalRoot(input.detach().to(WideType(type)),
                                           adapters::LastDims(input, normalized_shape.size()),
                                           eps.value_or(adapters::DefaultEpsilon(type)))};
}

}  // namespace torch_infini::autograd
