#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>

#include <cmath>
#include <numbers>
#include <tuple>

#include "ops/composed.h"
#include "ops/index.h"

namespace torch_infini {
namespace {

using at::Scalar;
using at::Tensor;
using std::numbers::pi;

/// A number as an operand of `tensor`'s type.
Tensor Number(const Scalar& value, const Tensor& tensor) {
  return at::scalar_tensor(value, at::TensorOptions().dtype(tensor.scalar_type()));
}

// --- Gradients of elementwise operators ---

Tensor& ThresholdBackwardOut(const Tensor& gradient, const Tensor& self, const Scalar& threshold,
                             Tensor& out) {
  return at::where_out(out, self.le(threshold), Number(0, gradient), gradient);
}

Tensor& SigmoidBackwardOut(const Tensor& gradient, const Tensor& output, Tensor& out) {
  return at::mul_out(out, gradient, output * at::rsub(output, 1));
}

Tensor& TanhBackwardOut(const Tensor& gradient, const Tensor& output, Tensor& out) {
  return at::mul_out(out, gradient, at::rsub(output * output, 1));
}

Tensor& GeluBackwardOut(const Tensor& gradient, const Tensor& self, c10::string_view approximate,
                        Tensor& out) {
  Tensor slope;
  if (approximate == "tanh") {
    const double scale = std::numbers::sqrt2 / std::sqrt(pi);
    constexpr double kCubic = 0.044715;
    const Tensor square = self * self;
    const Tensor t = at::tanh(scale * (self + kCubic * (square * self)));
    const Tensor inner = scale * (1 + 3 * kCubic * square);
    slope = 0.5 * (1 + t) + 0.5 * self * at::rsub(t * t, 1) * inner;
  } else {
    const Tensor below = 0.5 * (1 + at::erf(self * (1 / std::numbers::sqrt2)));
    const Tensor density = at::exp(-0.5 * (self * self)) * (1 / std::sqrt(2 * pi));
    slope = below + self * density;
  }
  return at::mul_out(out, gradient, slope);
}

Tensor& SoftmaxBackwardOut(const Tensor& gradient, const Tensor& output, std::int64_t dim,
                           at::ScalarType /*input_type*/, Tensor& out) {
  const Tensor weighted = gradient * output;
  return at::sub_out(out, weighted, output * at::sum(weighted, dim, /*keepdim=*/true));
}

Tensor& LogSoftmaxBackwardOut(const Tensor& gradient, const Tensor& output, std::int64_t dim,
                              at::ScalarType /*input_type*/, Tensor& out) {
  return at::sub_out(out, gradient, at::exp(output) * at::sum(gradient, dim, /*keepdim=*/true));
}

// --- Losses ---

Tensor Reduced(const Tensor& losses, std::int64_t reduction) {
  if (reduction == at::Reduction::Mean) return at::mean(losses);
  if (reduction == at::Reduction::Sum) return at::sum(losses);
  return losses;
}

Tensor& MseLossOut(const Tensor& self, const Tensor& target, std::int64_t reduction, Tensor& out) {
  const Tensor difference = self - target;
  const Tensor result = Reduced(difference * difference, reduction);
  out.resize_(result.sizes());
  return out.copy_(result);
}

Tensor MseLossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                       std::int64_t reduction) {
  const double count = reduction == at::Reduction::Mean ? static_cast<double>(self.numel()) : 1.0;
  return (self - target) * gradient * (2.0 / count);
}

/// The rows of a negative log likelihood loss: which count, the class of each,
/// and its weight.
struct Rows {
  Tensor valid;
  Tensor target;
  Tensor weight;
};

Rows RowsOf(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
            std::int64_t ignored) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "nll_loss: input tensor should be 1D or 2D");
  TORCH_CHECK(target.dim() == self.dim() - 1 && (self.dim() == 1 || target.size(0) == self.size(0)),
              "nll_loss: size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(),
              ")");
  const bool weighted = weight.has_value() && weight->defined();
  TORCH_CHECK(!weighted || (weight->dim() == 1 && weight->numel() == self.size(-1)),
              "nll_loss: weight tensor should be defined either for all ", self.size(-1),
              " classes or no classes");
  Rows rows;
  const Tensor flat = target.reshape({-1}).to(c10::ScalarType::Long);
  rows.valid = flat.ne(ignored);
  rows.target = at::where(rows.valid, flat, Number(0, flat));
  const Tensor all =
      weighted ? at::index_select(*weight, 0, rows.target) : at::ones(flat.sizes(), self.options());
  rows.weight = at::where(rows.valid, all, Number(0, self));
  return rows;
}

std::tuple<Tensor&, Tensor&> NllLossOut(const Tensor& self, const Tensor& target,
                                        const std::optional<Tensor>& weight, std::int64_t reduction,
                                        std::int64_t ignored, Tensor& output,
                                        Tensor& total_weight) {
  const Rows rows = RowsOf(self, target, weight, ignored);
  const Tensor scores = self.dim() == 1 ? self.unsqueeze(0) : self;
  const Tensor picked = at::gather(scores, 1, rows.target.unsqueeze(1)).squeeze(1);
  const Tensor losses = at::neg(picked * rows.weight);
  const Tensor total = at::sum(rows.weight);
  Tensor result = losses.reshape(target.sizes());
  if (reduction == at::Reduction::Sum) result = at::sum(losses);
  if (reduction == at::Reduction::Mean) result = at::div(at::sum(losses), total);
  output.resize_(result.sizes());
  output.copy_(result);
  total_weight.resize_({});
  total_weight.copy_(reduction == at::Reduction::None ? at::zeros({}, self.options()) : total);
  return {output, total_weight};
}

Tensor& NllLossBackwardOut(const Tensor& gradient, const Tensor& self, const Tensor& target,
                           const std::optional<Tensor>& weight, std::int64_t reduction,
                           std::int64_t ignored, const Tensor& total_weight, Tensor& out) {
  const Rows rows = RowsOf(self, target, weight, ignored);
  const auto classes =
      at::arange(self.size(-1), at::TensorOptions().dtype(c10::kLong).device(self.device()));
  Tensor slope = at::neg(rows.weight * gradient.reshape({-1}));
  if (reduction == at::Reduction::Mean) slope = at::div(slope, total_weight);
  const Tensor chosen = rows.target.unsqueeze(1).eq(classes);
  const Tensor result = at::where(chosen, slope.unsqueeze(1), Number(0, self));
  out.resize_(self.sizes());
  return out.copy_(result.reshape(self.sizes()));
}

// --- Embedding ---

Tensor EmbeddingDenseBackward(const Tensor& gradient, const Tensor& indices, std::int64_t count,
                              std::int64_t padding, bool scale_by_frequency) {
  const Tensor flat = indices.reshape({-1});
  const Tensor rows = gradient.reshape({flat.numel(), -1});
  const Tensor ones = at::ones({flat.numel(), 1}, rows.options());
  Tensor kept = flat.ne(padding).unsqueeze(1);
  const Tensor zero = Number(0, rows);
  const bool padded = padding >= 0;
  const Tensor sums = SumByPlace(padded ? at::where(kept, rows, zero) : rows, flat, count);
  if (!scale_by_frequency) return sums;
  const Tensor counts = SumByPlace(padded ? at::where(kept, ones, zero) : ones, flat, count);
  return at::div(sums, at::clamp_min(counts, 1));
}

// --- Mixed precision ---

/// Divides gradients by the loss scale and notes whether one is not finite.
void UnscaleGradients(at::TensorList gradients, Tensor& found, const Tensor& inverse_scale) {
  for (const Tensor& gradient : gradients) {
    Tensor scaled = gradient;
    scaled.mul_(inverse_scale.to(gradient.scalar_type()));
    // Only infinities and NaN give NaN.
    const Tensor broken = at::any((scaled - scaled).ne(0)).to(found.scalar_type());
    found.copy_(at::maximum(found, broken.reshape(found.sizes())));
  }
}

Tensor& UpdateScale(Tensor& scale, Tensor& steps, const Tensor& found, double growth,
                    double backoff, std::int64_t interval) {
  const Tensor broken = found.ne(0);
  const Tensor next = steps + 1;
  const Tensor grows = next.eq(interval);
  const Tensor grown = scale * growth;
  // A scale that would overflow stays.
  const Tensor finite = (grown - grown).eq(0);
  const Tensor kept = at::where(grows.logical_and(finite), grown, scale);
  scale.copy_(at::where(broken, scale * backoff, kept));
  const Tensor zero = Number(0, steps);
  steps.copy_(at::where(broken.logical_or(grows), zero, next));
  return scale;
}

}  // namespace

void RegisterComposedTraining(Composed library) {
  library.Add("threshold_backward.grad_input", TORCH_FN(ThresholdBackwardOut))
      .Add("sigmoid_backward.grad_input", TORCH_FN(SigmoidBackwardOut))
      .Add("tanh_backward.grad_input", TORCH_FN(TanhBackwardOut))
      .Add("gelu_backward.grad_input", TORCH_FN(GeluBackwardOut))
      .Add("_softmax_backward_data.out", TORCH_FN(SoftmaxBackwardOut))
      .Add("_log_softmax_backward_data.out", TORCH_FN(LogSoftmaxBackwardOut))
      .Add("mse_loss.out", TORCH_FN(MseLossOut))
      .Add("mse_loss_backward", TORCH_FN(MseLossBackward))
      .Add("nll_loss_forward.output", TORCH_FN(NllLossOut))
      .Add("nll_loss_backward.grad_input", TORCH_FN(NllLossBackwardOut))
      .Add("embedding_dense_backward", TORCH_FN(EmbeddingDenseBackward))
      .Add("_amp_foreach_non_finite_check_and_unscale_", TORCH_FN(UnscaleGradients))
      .Add("_amp_update_scale_", TORCH_FN(UpdateScale));
}

}  // namespace torch_infini
