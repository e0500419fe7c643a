// Activations, losses and dropout, with their gradients.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>

#include <tuple>

#include "ops/composed.h"
#include "ops/composed_parts.h"

namespace torch_infini {
namespace {

using at::Scalar;
using at::Tensor;

// --- Activations ---

Tensor Hardtanh(const Tensor& self, const Scalar& least, const Scalar& greatest) {
  TORCH_CHECK(self.scalar_type() != c10::ScalarType::Bool,
              "Bool inputs not supported for hardtanh");
  if (IsInteger(self)) return at::clamp(self, least.toLong(), greatest.toLong());
  return at::clamp(self, least, greatest);
}

Tensor& HardtanhOut(const Tensor& self, const Scalar& least, const Scalar& greatest, Tensor& out) {
  return Give(Hardtanh(self, least, greatest), out);
}

Tensor& HardtanhInPlace(Tensor& self, const Scalar& least, const Scalar& greatest) {
  return self.copy_(Hardtanh(self, least, greatest));
}

Tensor HardtanhBackward(const Tensor& gradient, const Tensor& self, const Scalar& least,
                        const Scalar& greatest) {
  const Tensor outside = self.le(least).logical_or(self.ge(greatest));
  return at::where(outside, Number(0.0), gradient);
}

Tensor& HardtanhBackwardOut(const Tensor& gradient, const Tensor& self, const Scalar& least,
                            const Scalar& greatest, Tensor& out) {
  return Give(HardtanhBackward(gradient, self, least, greatest), out);
}

Tensor Hardsigmoid(const Tensor& self) { return at::clamp(self + 3, 0, 6) / 6; }

Tensor& HardsigmoidBackwardOut(const Tensor& gradient, const Tensor& self, Tensor& out) {
  const Tensor inside = self.gt(-3).logical_and(self.lt(3));
  return Give(at::where(inside, gradient / 6, Number(0.0)), out);
}

Tensor Hardswish(const Tensor& self) { return self * Hardsigmoid(self); }
Tensor& HardswishOut(const Tensor& self, Tensor& out) { return Give(Hardswish(self), out); }
Tensor& HardswishInPlace(Tensor& self) { return self.copy_(Hardswish(self)); }

Tensor HardswishBackward(const Tensor& gradient, const Tensor& self) {
  const Tensor inside = gradient * (self / 3 + 0.5);
  return at::where(self.le(-3), Number(0.0), at::where(self.ge(3), gradient, inside));
}

Tensor& LeakyReluOut(const Tensor& self, const Scalar& slope, Tensor& out) {
  return Give(at::where(self.gt(0), self, self * slope), out);
}

Tensor& LeakyReluBackwardOut(const Tensor& gradient, const Tensor& self, const Scalar& slope,
                             bool /*self_is_result*/, Tensor& out) {
  return Give(at::where(self.gt(0), gradient, gradient * slope), out);
}

Tensor& EluOut(const Tensor& self, const Scalar& alpha, const Scalar& scale,
               const Scalar& input_scale, Tensor& out) {
  const double negative = alpha.toDouble() * scale.toDouble();
  const Tensor below = Expm1(self * input_scale) * negative;
  return Give(at::where(self.gt(0), self * scale, below), out);
}

Tensor& EluBackwardOut(const Tensor& gradient, const Scalar& alpha, const Scalar& scale,
                       const Scalar& input_scale, bool is_result, const Tensor& values,
                       Tensor& out) {
  const double negative = alpha.toDouble() * scale.toDouble();
  const double inner = input_scale.toDouble();
  const Tensor slope =
      is_result ? (values + negative) * inner : at::exp(values * inner) * (negative * inner);
  return Give(gradient * at::where(values.gt(0), Number(scale), slope), out);
}

Tensor& SoftplusOut(const Tensor& self, const Scalar& beta, const Scalar& threshold, Tensor& out) {
  const Tensor scaled = self * beta;
  const Tensor soft = Log1p(at::exp(scaled)) / beta.toDouble();
  return Give(at::where(scaled.gt(threshold), self, soft), out);
}

Tensor& SoftplusBackwardOut(const Tensor& gradient, const Tensor& self, const Scalar& beta,
                            const Scalar& threshold, Tensor& out) {
  const Tensor scaled = self * beta;
  return Give(at::where(scaled.gt(threshold), gradient, gradient * at::sigmoid(scaled)), out);
}

std::tuple<Tensor, Tensor> LogSigmoid(const Tensor& self) {
  const Tensor buffer = at::exp(-at::abs(self));
  return {at::clamp_max(self, 0) - Log1p(buffer), buffer};
}

Tensor LogSigmoidBackward(const Tensor& gradient, const Tensor& self, const Tensor& /*buffer*/) {
  return gradient * at::sigmoid(-self);
}

Tensor Mish(const Tensor& self) {
  const Tensor soft = at::where(self.gt(20), self, Log1p(at::exp(self)));
  return self * at::tanh(soft);
}

Tensor& ThresholdOut(const Tensor& self, const Scalar& threshold, const Scalar& value,
                     Tensor& out) {
  return Give(at::where(self.le(threshold), Number(value), self), out);
}

Tensor& SoftshrinkOut(const Tensor& self, const Scalar& bound, Tensor& out) {
  const Tensor low = at::where(self.lt(-bound.toDouble()), self + bound, self * 0);
  return Give(at::where(self.gt(bound), self - bound, low), out);
}

Tensor& HardshrinkOut(const Tensor& self, const Scalar& bound, Tensor& out) {
  const Tensor inside = self.ge(-bound.toDouble()).logical_and(self.le(bound));
  return Give(at::where(inside, Number(0.0), self), out);
}

Tensor& ShrinkBackwardOut(const Tensor& gradient, const Tensor& self, const Scalar& bound,
                          Tensor& out) {
  const Tensor inside = self.ge(-bound.toDouble()).logical_and(self.le(bound));
  return Give(at::where(inside, Number(0.0), gradient), out);
}

// --- Losses ---

Tensor& SmoothL1Out(const Tensor& self, const Tensor& target, std::int64_t reduction, double beta,
                    Tensor& out) {
  const Tensor size = at::abs(self - target);
  if (beta == 0.0) return Give(Reduced(size, reduction), out);
  const Tensor losses = at::where(size.lt(beta), size * size * (0.5 / beta), size - 0.5 * beta);
  return Give(Reduced(losses, reduction), out);
}

Tensor HuberLoss(const Tensor& self, const Tensor& target, std::int64_t reduction, double delta) {
  const Tensor size = at::abs(self - target);
  const Tensor losses = at::where(size.le(delta), size * size * 0.5, (size - 0.5 * delta) * delta);
  return Reduced(losses, reduction);
}

Tensor& HuberLossOut(const Tensor& self, const Tensor& target, std::int64_t reduction, double delta,
                     Tensor& out) {
  return Give(HuberLoss(self, target, reduction, delta), out);
}

Tensor BinaryCrossEntropy(const Tensor& self, const Tensor& target,
                          const std::optional<Tensor>& weight, std::int64_t reduction) {
  const Tensor yes = at::clamp_min(at::log(self), -100);
  const Tensor no = at::clamp_min(at::log(at::rsub(self, 1)), -100);
  Tensor losses = (target - 1) * no - target * yes;
  if (weight.has_value() && weight->defined()) losses = losses * *weight;
  return Reduced(losses, reduction);
}

Tensor& BinaryCrossEntropyOut(const Tensor& self, const Tensor& target,
                              const std::optional<Tensor>& weight, std::int64_t reduction,
                              Tensor& out) {
  return Give(BinaryCrossEntropy(self, target, weight, reduction), out);
}

/// What a loss passes back for each element of the mean.
double Share(const Tensor& self, std::int64_t reduction) {
  return reduction == at::Reduction::Mean ? 1.0 / static_cast<double>(self.numel()) : 1.0;
}

Tensor& SmoothL1BackwardOut(const Tensor& gradient, const Tensor& self, const Tensor& target,
                            std::int64_t reduction, double beta, Tensor& out) {
  const Tensor difference = self - target;
  const Tensor slope = beta == 0.0 ? at::sign(difference) : at::clamp(difference / beta, -1, 1);
  return Give(slope * gradient * Share(self, reduction), out);
}

Tensor& HuberBackwardOut(const Tensor& gradient, const Tensor& self, const Tensor& target,
                         std::int64_t reduction, double delta, Tensor& out) {
  const Tensor slope = at::clamp(self - target, -delta, delta);
  return Give(slope * gradient * Share(self, reduction), out);
}

Tensor BinaryCrossEntropyBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                                  const std::optional<Tensor>& weight, std::int64_t reduction) {
  Tensor slope = (self - target) / at::clamp_min(self * at::rsub(self, 1), 1e-12);
  if (weight.has_value() && weight->defined()) slope = slope * *weight;
  return slope * gradient * Share(self, reduction);
}

// --- Dropout ---

std::tuple<Tensor, Tensor> Dropout(const Tensor& self, double probability,
                                   std::optional<bool> training) {
  const auto marks = self.options().dtype(c10::ScalarType::Bool);
  if (training.has_value() && !*training) return {self.clone(), at::ones(self.sizes(), marks)};
  TORCH_CHECK(probability >= 0 && probability <= 1,
              "dropout probability has to be between 0 and 1, but got ", probability);
  Tensor kept = at::empty(self.sizes(), marks).bernoulli_(1 - probability);
  const double scale = probability == 1.0 ? 0.0 : 1 / (1 - probability);
  return {at::where(kept, self * scale, Number(0.0)), kept};
}

Tensor DropoutBackward(const Tensor& gradient, const Tensor& kept, double scale) {
  return at::where(kept, gradient * scale, Number(0.0));
}

}  // namespace

void RegisterComposedActivations(Composed library) {
  library.Add("hardtanh", TORCH_FN(Hardtanh))
      .Add("hardtanh.out", TORCH_FN(HardtanhOut))
      .Add("hardtanh_", TORCH_FN(HardtanhInPlace))
      .Add("hardtanh_backward", TORCH_FN(HardtanhBackward))
      .Add("hardtanh_backward.grad_input", TORCH_FN(HardtanhBackwardOut))
      .Add("hardsigmoid.out", TORCH_FN(UnaryOut<Hardsigmoid>))
      .Add("hardsigmoid_backward.grad_input", TORCH_FN(HardsigmoidBackwardOut))
      .Add("hardswish", TORCH_FN(Hardswish))
      .Add("hardswish.out", TORCH_FN(HardswishOut))
      .Add("hardswish_", TORCH_FN(HardswishInPlace))
      .Add("hardswish_backward", TORCH_FN(HardswishBackward))
      .Add("leaky_relu.out", TORCH_FN(LeakyReluOut))
      .Add("leaky_relu_backward.grad_input", TORCH_FN(LeakyReluBackwardOut))
      .Add("elu.out", TORCH_FN(EluOut))
      .Add("elu_backward.grad_input", TORCH_FN(EluBackwardOut))
      .Add("softplus.out", TORCH_FN(SoftplusOut))
      .Add("softplus_backward.grad_input", TORCH_FN(SoftplusBackwardOut))
      .Add("log_sigmoid_forward", TORCH_FN(LogSigmoid))
      .Add("log_sigmoid_backward", TORCH_FN(LogSigmoidBackward))
      .Add("mish.out", TORCH_FN(UnaryOut<Mish>))
      .Add("threshold.out", TORCH_FN(ThresholdOut))
      .Add("softshrink.out", TORCH_FN(SoftshrinkOut))
      .Add("softshrink_backward.grad_input", TORCH_FN(ShrinkBackwardOut))
      .Add("hardshrink.out", TORCH_FN(HardshrinkOut))
      .Add("hardshrink_backward.grad_input", TORCH_FN(ShrinkBackwardOut))
      .Add("smooth_l1_loss.out", TORCH_FN(SmoothL1Out))
      .Add("huber_loss", TORCH_FN(HuberLoss))
      .Add("huber_loss.out", TORCH_FN(HuberLossOut))
      .Add("binary_cross_entropy", TORCH_FN(BinaryCrossEntropy))
      .Add("binary_cross_entropy.out", TORCH_FN(BinaryCrossEntropyOut))
      .Add("smooth_l1_loss_backward.grad_input", TORCH_FN(SmoothL1BackwardOut))
      .Add("huber_loss_backward.out", TORCH_FN(HuberBackwardOut))
      .Add("binary_cross_entropy_backward", TORCH_FN(BinaryCrossEntropyBackward))
      .Add("native_dropout", TORCH_FN(Dropout))
      .Add("native_dropout_backward", TORCH_FN(DropoutBackward));
}

}  // namespace torch_infini
