// The fused steps of Adam, AdamW and SGD, tensor after tensor.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cstddef>
#include <optional>

#include "ops/composed.h"

namespace torch_infini {
namespace {

using at::Tensor;
using at::TensorList;
using OptionalTensor = std::optional<Tensor>;

/// What every fused step does to gradients and results.
class Scaling {
 public:
  /// `scale` divides gradients; nothing is written where `found` is not 0.
  Scaling(const OptionalTensor& scale, const OptionalTensor& found) {
    if (scale.has_value() && scale->defined()) scale_ = *scale;
    if (found.has_value() && found->defined()) skipped_ = found->ne(0);
  }

  /// The gradient to step by, in the type of the computation. Takes the scale
  /// out of `gradient` itself as well.
  Tensor Read(const Tensor& gradient, c10::ScalarType type, bool maximize) const {
    if (scale_.defined()) gradient.div_(scale_.to(gradient.scalar_type()));
    const Tensor wide = gradient.to(type);
    return maximize ? wide.neg() : wide;
  }

  void Write(const Tensor& target, const Tensor& value) const {
    target.copy_(skipped_.defined() ? at::where(skipped_, target, value.to(target.scalar_type()))
                                    : value);
  }

 private:
  Tensor scale_;
  Tensor skipped_;
};

c10::ScalarType WideType(const Tensor& tensor) {
  const c10::ScalarType type = tensor.scalar_type();
  return c10::isReducedFloatingType(type) ? c10::ScalarType::Float : type;
}

Tensor Rate(double rate) {
  return at::scalar_tensor(rate, at::TensorOptions().dtype(c10::ScalarType::Double));
}

template <bool kDecoupledDecay>
void AdamWithTensor(TensorList self, TensorList gradients, TensorList averages, TensorList squares,
                    TensorList greatest_squares, TensorList steps, const Tensor& rate, double beta1,
                    double beta2, double decay, double eps, bool amsgrad, bool maximize,
                    const OptionalTensor& scale, const OptionalTensor& found) {
  const Scaling scaling(scale, found);
  for (std::size_t i = 0; i < self.size(); ++i) {
    const c10::ScalarType type = WideType(self[i]);
    Tensor parameter = self[i].to(type);
    Tensor gradient = scaling.Read(gradients[i], type, maximize);
    if (decay != 0.0 && kDecoupledDecay) parameter = parameter - parameter * (rate * decay);
    if (decay != 0.0 && !kDecoupledDecay) gradient = gradient + parameter * decay;
    const Tensor average = at::lerp(averages[i].to(type), gradient, 1.0 - beta1);
    const Tensor square = squares[i].to(type) * beta2 + gradient * gradient * (1.0 - beta2);
    Tensor bound = square;
    if (amsgrad) {
      bound = at::maximum(greatest_squares[i].to(type), square);
      scaling.Write(greatest_squares[i], bound);
    }
    const Tensor first = at::rsub(at::pow(beta1, steps[i]), 1).to(type);
    const Tensor second = at::rsub(at::pow(beta2, steps[i]), 1).to(type);
    const Tensor deviation = bound.sqrt() / second.sqrt() + eps;
    scaling.Write(self[i], parameter - (rate / first) * (average / deviation));
    scaling.Write(averages[i], average);
    scaling.Write(squares[i], square);
  }
}

template <bool kDecoupledDecay>
void Adam(TensorList self, TensorList gradients, TensorList averages, TensorList squares,
          TensorList greatest_squares, TensorList steps, double rate, double beta1, double beta2,
          double decay, double eps, bool amsgrad, bool maximize, const OptionalTensor& scale,
          const OptionalTensor& found) {
  AdamWithTensor<kDecoupledDecay>(self, gradients, averages, squares, greatest_squares, steps,
                                  Rate(rate), beta1, beta2, decay, eps, amsgrad, maximize, scale,
                                  found);
}

void SgdWithTensor(TensorList self, TensorList gradients, TensorList momenta, double decay,
                   double momentum, const Tensor& rate, double dampening, bool nesterov,
                   bool maximize, bool is_first_step, const OptionalTensor& scale,
                   const OptionalTensor& found) {
  const Scaling scaling(scale, found);
  for (std::size_t i = 0; i < self.size(); ++i) {
    const c10::ScalarType type = WideType(self[i]);
    const Tensor parameter = self[i].to(type);
    Tensor gradient = scaling.Read(gradients[i], type, maximize);
    if (decay != 0.0) gradient = gradient + parameter * decay;
    if (momentum != 0.0) {
      const Tensor moved =
          is_first_step ? gradient : momenta[i].to(type) * momentum + gradient * (1.0 - dampening);
      scaling.Write(momenta[i], moved);
      gradient = nesterov ? gradient + moved * momentum : moved;
    }
    scaling.Write(self[i], parameter - rate * gradient);
  }
}

void Sgd(TensorList self, TensorList gradients, TensorList momenta, double decay, double momentum,
         double rate, double dampening, bool nesterov, bool maximize, bool is_first_step,
         const OptionalTensor& scale, const OptionalTensor& found) {
  SgdWithTensor(self, gradients, momenta, decay, momentum, Rate(rate), dampening, nesterov,
                maximize, is_first_step, scale, found);
}

}  // namespace

void RegisterComposedOptimizers(Composed library) {
  library.Add("_fused_adam_", TORCH_FN(Adam<false>))
      .Add("_fused_adam_.tensor_lr", TORCH_FN(AdamWithTensor<false>))
      .Add("_fused_adamw_", TORCH_FN(Adam<true>))
      .Add("_fused_adamw_.tensor_lr", TORCH_FN(AdamWithTensor<true>))
      .Add("_fused_sgd_", TORCH_FN(Sgd))
      .Add("_fused_sgd_.tensor_lr", TORCH_FN(SgdWithTensor));
}

}  // namespace torch_infini
