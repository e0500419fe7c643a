// Logarithms, rounding and other elementwise functions.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/composed.h"
#include "ops/composed_parts.h"

namespace torch_infini {
namespace {

using at::Scalar;
using at::Tensor;
using std::numbers::ln10;
using std::numbers::ln2;
using std::numbers::pi;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- Logarithms and exponentials ---

Tensor Log2(const Tensor& self) { return at::log(Floating(self)) * (1 / ln2); }
Tensor Log10(const Tensor& self) { return at::log(Floating(self)) * (1 / ln10); }
Tensor Exp2(const Tensor& self) { return at::pow(2.0, Floating(self)); }

Tensor LogAddExp(const Tensor& self, const Tensor& other) {
  const Tensor greater = at::maximum(self, other);
  const Tensor sum = greater + Log1p(at::exp(-at::abs(self - other)));
  return at::where(self.eq(other).logical_and(at::abs(self).eq(kInfinity)), self, sum);
}

Tensor LogAddExp2(const Tensor& self, const Tensor& other) {
  const Tensor greater = at::maximum(self, other);
  const Tensor sum = greater + Log1p(Exp2(-at::abs(self - other))) * (1 / ln2);
  return at::where(self.eq(other).logical_and(at::abs(self).eq(kInfinity)), self, sum);
}

Tensor TimesLog(const Tensor& self, const Tensor& other, const Tensor& log) {
  const Tensor product = at::where(self.eq(0), Number(0.0), Floating(self) * log);
  return at::where(at::isnan(other), Number(kNan), product);
}

Tensor Xlogy(const Tensor& self, const Tensor& other) {
  return TimesLog(self, other, at::log(Floating(other)));
}

Tensor Xlog1py(const Tensor& self, const Tensor& other) {
  return TimesLog(self, other, Log1p(other));
}

Tensor Entropy(const Tensor& self) {
  const Tensor x = Floating(self);
  const Tensor inside = at::where(x.eq(0), Number(0.0), -x * at::log(x));
  return at::where(x.lt(0), Number(-kInfinity), inside);
}

Tensor Logit(const Tensor& self, std::optional<double> eps) {
  Tensor x = Floating(self);
  if (eps.has_value()) x = at::clamp(x, *eps, 1 - *eps);
  return at::log(x / at::rsub(x, 1));
}

Tensor& LogitOut(const Tensor& self, std::optional<double> eps, Tensor& out) {
  return Give(Logit(self, eps), out);
}

// --- Complex numbers ---

Tensor ConjPhysical(const Tensor& self) {
  Tensor result = at::empty_like(self);
  const Tensor from = at::view_as_real(self);
  const Tensor to = at::view_as_real(result);
  to.select(-1, 0).copy_(from.select(-1, 0));
  Tensor imaginary = to.select(-1, 1);
  at::neg_out(imaginary, from.select(-1, 1));
  return result;
}

// --- Circular and hyperbolic functions ---

Tensor Tan(const Tensor& self) { return at::sin(self) / at::cos(self); }

Tensor Sinh(const Tensor& self) {
  const Tensor x = Floating(self);
  const Tensor less = Expm1(at::abs(x));
  const Tensor both = (less + less / (less + 1)) * 0.5;
  const Tensor size = at::where(less.eq(kInfinity), less, both);
  return at::where(x.lt(0), -size, size);
}

Tensor Cosh(const Tensor& self) {
  const Tensor power = at::exp(at::abs(Floating(self)));
  return (power + at::reciprocal(power)) * 0.5;
}

Tensor Sinc(const Tensor& self) {
  const Tensor x = Floating(self) * pi;
  return at::where(x.eq(0), Number(1.0), at::sin(x) / x);
}

// --- Rounding ---

Tensor Floor(const Tensor& self) {
  if (IsInteger(self)) return self;
  return at::where(at::abs(self).eq(kInfinity), self, at::floor_divide(self, 1));
}

Tensor Ceil(const Tensor& self) { return IsInteger(self) ? self : at::neg(Floor(at::neg(self))); }

Tensor Trunc(const Tensor& self) {
  return IsInteger(self) ? self : at::where(self.lt(0), Ceil(self), Floor(self));
}

Tensor Frac(const Tensor& self) { return self - Trunc(self); }

/// Halves go to the even neighbour.
Tensor Round(const Tensor& self) {
  if (IsInteger(self)) return self;
  const Tensor below = Floor(self);
  const Tensor rest = self - below;
  const Tensor even = below + at::remainder(below, 2);
  const Tensor near = at::where(rest.lt(0.5), below, at::where(rest.gt(0.5), below + 1, even));
  return at::where(at::abs(self).eq(kInfinity), self, near);
}

Tensor& RoundDecimalsOut(const Tensor& self, std::int64_t decimals, Tensor& out) {
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const Tensor scaled = decimals >= 0 ? self * scale : self / scale;
  const Tensor rounded = Round(scaled);
  return Give(decimals >= 0 ? rounded / scale : rounded * scale, out);
}

/// The remainder of the sign of `self`; of positive numbers it is exact.
Tensor Fmod(const Tensor& self, const Tensor& other) {
  const Tensor rest = at::remainder(at::abs(self), at::abs(other));
  return at::where(self.lt(0), -rest, rest);
}

Tensor& FmodScalarOut(const Tensor& self, const Scalar& other, Tensor& out) {
  return Give(Fmod(self, Number(other).to(self.device())), out);
}

// --- Signs, extremes and special values ---

Tensor SignBit(const Tensor& self) {
  if (IsInteger(self)) return self.to(c10::ScalarType::Long).lt(0);
  return self.lt(0).logical_or(self.eq(0).logical_and(at::reciprocal(self).lt(0)));
}

Tensor CopySign(const Tensor& self, const Tensor& other) {
  const Tensor size = at::abs(Floating(self));
  return at::where(SignBit(other), -size, size);
}

Tensor Heaviside(const Tensor& self, const Tensor& values) {
  return at::where(self.eq(0), values, self.gt(0).to(self.scalar_type()));
}

Tensor Fmax(const Tensor& self, const Tensor& other) {
  const Tensor greater = at::maximum(self, other);
  return at::where(at::isnan(self), other, at::where(at::isnan(other), self, greater));
}

Tensor Fmin(const Tensor& self, const Tensor& other) {
  const Tensor less = at::minimum(self, other);
  return at::where(at::isnan(self), other, at::where(at::isnan(other), self, less));
}

double GreatestOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Half:
      return 65504.0;
    case c10::ScalarType::BFloat16:
      return 3.3895313892515355e38;
    case c10::ScalarType::Float:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Tensor& NanToNumOut(const Tensor& self, std::optional<double> nan, std::optional<double> positive,
                    std::optional<double> negative, Tensor& out) {
  if (IsInteger(self)) return Give(self, out);
  const double greatest = GreatestOf(self.scalar_type());
  Tensor result = at::where(at::isnan(self), Number(nan.value_or(0.0)), self);
  result = at::where(self.eq(kInfinity), Number(positive.value_or(greatest)), result);
  return Give(at::where(self.eq(-kInfinity), Number(negative.value_or(-greatest)), result), out);
}

Tensor RsubTensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return at::sub(other, self, alpha);
}

bool Equal(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.device() == other.device(),
              "Expected all tensors to be on the same device, got ", self.device(), " and ",
              other.device());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || at::all(self.eq(other)).item<bool>();
}

}  // namespace

void RegisterComposedMath(Composed library) {
  library.Add("log1p.out", TORCH_FN(UnaryOut<Log1p>))
      .Add("expm1.out", TORCH_FN(UnaryOut<Expm1>))
      .Add("log2.out", TORCH_FN(UnaryOut<Log2>))
      .Add("log10.out", TORCH_FN(UnaryOut<Log10>))
      .Add("exp2.out", TORCH_FN(UnaryOut<Exp2>))
      .Add("logaddexp.out", TORCH_FN(BinaryOut<LogAddExp>))
      .Add("logaddexp2.out", TORCH_FN(BinaryOut<LogAddExp2>))
      .Add("xlogy.OutTensor", TORCH_FN(BinaryOut<Xlogy>))
      .Add("special_xlog1py.out", TORCH_FN(BinaryOut<Xlog1py>))
      .Add("special_entr.out", TORCH_FN(UnaryOut<Entropy>))
      .Add("logit", TORCH_FN(Logit))
      .Add("logit.out", TORCH_FN(LogitOut))
      .Add("conj_physical.out", TORCH_FN(UnaryOut<ConjPhysical>))
      .Add("tan.out", TORCH_FN(UnaryOut<Tan>))
      .Add("sinh.out", TORCH_FN(UnaryOut<Sinh>))
      .Add("cosh.out", TORCH_FN(UnaryOut<Cosh>))
      .Add("sinc.out", TORCH_FN(UnaryOut<Sinc>))
      .Add("floor.out", TORCH_FN(UnaryOut<Floor>))
      .Add("ceil.out", TORCH_FN(UnaryOut<Ceil>))
      .Add("trunc.out", TORCH_FN(UnaryOut<Trunc>))
      .Add("frac.out", TORCH_FN(UnaryOut<Frac>))
      .Add("round.out", TORCH_FN(UnaryOut<Round>))
      .Add("round.decimals_out", TORCH_FN(RoundDecimalsOut))
      .Add("fmod.Tensor_out", TORCH_FN(BinaryOut<Fmod>))
      .Add("fmod.Scalar_out", TORCH_FN(FmodScalarOut))
      .Add("signbit.out", TORCH_FN(UnaryOut<SignBit>))
      .Add("copysign.out", TORCH_FN(BinaryOut<CopySign>))
      .Add("heaviside.out", TORCH_FN(BinaryOut<Heaviside>))
      .Add("fmax.out", TORCH_FN(BinaryOut<Fmax>))
      .Add("fmin.out", TORCH_FN(BinaryOut<Fmin>))
      .Add("nan_to_num.out", TORCH_FN(NanToNumOut))
      .Add("rsub.Tensor", TORCH_FN(RsubTensor))
      .Add("equal", TORCH_FN(Equal));
}

}  // namespace torch_infini
