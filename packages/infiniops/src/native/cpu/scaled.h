// Sums and differences whose second operand has a factor: what they share.
#ifndef INFINI_OPS_NATIVE_CPU_SCALED_H_
#define INFINI_OPS_NATIVE_CPU_SCALED_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

/// The factor of the second operand.
struct ScaledAttributes {
  bool is_one;
  std::int64_t integer;  // for bool and the integers
  double real;           // for the other types
  double imaginary;
};

#ifndef INFINI_OPS_CPU_ISA

/// The implementation of such an operator.
template <class Op, class Task>
struct ScaledOperator {
  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const Scalar& alpha, const TensorView& out) {
    LaunchPointwise<Task>(Op::kOperator, context, input.dtype(),
                          {.is_one = alpha.real() == 1 && alpha.imaginary() == 0,
                           .integer = alpha.integer(),
                           .real = alpha.real(),
                           .imaginary = alpha.imaginary()},
                          out, input, other);
  }
};

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_SCALED_H_
