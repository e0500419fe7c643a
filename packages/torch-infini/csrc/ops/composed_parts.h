// What compositions share: numbers as operands, results, and two functions that
// many are made of.
#ifndef TORCH_INFINI_OPS_COMPOSED_PARTS_H_
#define TORCH_INFINI_OPS_COMPOSED_PARTS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <limits>

namespace torch_infini {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number as an operand that does not take part in the promotion of types.
at::Tensor Number(const at::Scalar& value);

/// Whether the elements are bool or integers.
inline bool IsInteger(const at::Tensor& tensor) {
  return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

/// `tensor`, in PyTorch's default type where its elements are integers.
at::Tensor Floating(const at::Tensor& tensor);

/// Gives `out` the shape and the values of `result`, which its type must be able
/// to hold.
at::Tensor& Give(const at::Tensor& result, at::Tensor& out);

/// log(1 + x), right also where 1 + x rounds.
at::Tensor Log1p(const at::Tensor& self);

/// exp(x) - 1, right also where exp(x) rounds.
at::Tensor Expm1(const at::Tensor& self);

/// The mean of `losses`, their sum, or themselves: a `at::Reduction`.
at::Tensor Reduced(const at::Tensor& losses, std::int64_t reduction);

/// `kFunction(self)` as the form that writes into `out`.
template <at::Tensor (*kFunction)(const at::Tensor&)>
at::Tensor& UnaryOut(const at::Tensor& self, at::Tensor& out) {
  return Give(kFunction(self), out);
}

/// The same for two operands.
template <at::Tensor (*kFunction)(const at::Tensor&, const at::Tensor&)>
at::Tensor& BinaryOut(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  return Give(kFunction(self, other), out);
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_COMPOSED_PARTS_H_
