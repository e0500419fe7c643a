#include "ops/composed_parts.h"

#include <ATen/Functions.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>

namespace torch_infini {

using at::Tensor;

Tensor Number(const at::Scalar& value) { return at::native::wrapped_scalar_tensor(value); }

Tensor Floating(const Tensor& tensor) {
  return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)
             ? tensor.to(c10::get_default_dtype_as_scalartype())
             : tensor;
}

Tensor& Give(const Tensor& result, Tensor& out) {
  TORCH_CHECK(out.device() == result.device(), "Expected out tensor to be on ", result.device(),
              ", but it is on ", out.device());
  TORCH_CHECK(c10::canCast(result.scalar_type(), out.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              out.scalar_type());
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

Tensor Log1p(const Tensor& self) {
  const Tensor x = Floating(self);
  // The error of this sum is in both factors.
  const Tensor sum = x + 1;
  const Tensor scaled = at::log(sum) * (x / (sum - 1));
  const Tensor exact = sum.eq(1).logical_or(sum.eq(kInfinity));
  return at::where(exact, x, scaled);
}

Tensor Expm1(const Tensor& self) {
  const Tensor x = Floating(self);
  const Tensor power = at::exp(x);
  const Tensor less = power - 1;
  const Tensor scaled = less * (x / at::log(power));
  const Tensor near = at::where(power.eq(1), x, scaled);
  // Where the power is 0 or overflows there is nothing to correct.
  return at::where(less.eq(-1).logical_or(power.eq(kInfinity)), less, near);
}

Tensor Reduced(const Tensor& losses, std::int64_t reduction) {
  if (reduction == at::Reduction::Mean) return at::mean(losses);
  if (reduction == at::Reduction::Sum) return at::sum(losses);
  return losses;
}

}  // namespace torch_infini
