#include "autograd/native_layer_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/native_layer_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "autograd/requires_grad.h"
#include "ops/adapters/native_layer_norm.h"
#include "ops/adapters/normalization.h"

namespace torch_infini::autograd {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LayerNormFunction : torch::autograd::Function<LayerNormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            c10::IntArrayRef normalized_shape,
                            const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>& bias, double eps) {
    context->save_for_backward({input, weight.value_or(at::Tensor())});
    context->saved_data["dims"] = static_cast<std::int64_t>(normalized_shape.size());
    context->saved_data["eps"] = eps;
    context->saved_data["has_bias"] = bias.has_value() && bias->defined();
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::layer_norm(input, normalized_shape, weight, bias, eps);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    variable_list results(5);
    if (!gradients[0].defined()) return results;
    const c10::ScalarType narrow = saved[0].scalar_type();
    const c10::ScalarType type = adapters::WideType(narrow);
    const at::Tensor input = saved[0].to(type);
    const at::Tensor outer = gradients[0].to(type);
    const bool weighted = saved[1].defined();
    const std::int64_t kept = input.dim() - context->saved_data["dims"].toInt();
    const std::vector<std::int64_t> normalized = Range(kept, input.dim());

    const at::Tensor centred = input - input.mean(normalized, /*keepdim=*/true);
    const at::Tensor scale =
        adapters::ReciprocalRoot(centred, normalized, context->saved_data["eps"].toDouble());
    const at::Tensor unit = centred * scale;
    const auto over_rows = [&](const at::Tensor& each) {
      return (kept == 0 ? each : each.sum(Range(0, kept))).to(narrow);
    };
    // Tensors alone are numbered, and only those that are there.
    std::size_t number = 0;
    if (context->needs_input_grad(number++)) {
      const at::Tensor inner = weighted ? outer * saved[1].to(type) : outer;
      const at::Tensor along = (inner * unit).mean(normalized, /*keepdim=*/true);
      results[0] =
          ((inner - inner.mean(normalized, /*keepdim=*/true) - unit * along) * scale).to(narrow);
    }
    if (weighted && context->needs_input_grad(number++)) results[2] = over_rows(outer * unit);
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(number)) {
      results[3] = over_rows(outer);
    }
    return results;
  }
};

}  // namespace

at::Tensor LayerNorm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                     const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                     double eps, bool /*cudnn_enable*/) {
  if (IsDual(input) || IsDual(weight) || IsDual(bias)) {
    return adapters::ComposedLayerNorm(input, normalized_shape, weight, bias, eps);
  }
  if (IsDifferentiated(input) || IsDifferentiated(weight) || IsDifferentiated(bias)) {
    return LayerNormFunction::apply(input, normalized_shape, weight, bias, eps);
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  return at::layer_norm(input, normalized_shape, weight, bias, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> NativeLayerNorm(
    const at::Tensor& input, c10::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, double eps) {
  if (!IsDifferentiated(input) && !IsDifferentiated(weight) && !IsDifferentiated(bias)) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::native_layer_norm(input, normalized_shape, weight, bias, eps);
  }
  const at::Tensor result =
      LayerNorm(input, normalized_shape, weight, bias, eps, /*cudnn_enable=*/false);
  const at::AutoDispatchBelowADInplaceOrView below;
  const auto [mean, scale] =
      adapters::LayerStatistics(input.detach(), normalized_shape.size(), eps);
  return {result, mean, scale};
}

}  // namespace torch_infini::autograd
