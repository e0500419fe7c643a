// What PyTorch's structured classes do, for elementwise operators that PyTorch
// has not given one: they check operands, promote types, broadcast, and decide
// shape and strides of the result.
#ifndef TORCH_INFINI_OPS_ELEMENTWISE_META_H_
#define TORCH_INFINI_OPS_ELEMENTWISE_META_H_

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/result_type.h>

namespace torch_infini::meta {

/// One operand; a result of its type.
struct Unary : at::TensorIteratorBase {
  void meta(const at::Tensor& self) {
    TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(),
                                "infini has no kernel of this operator for complex numbers");
    build_borrowing_unary_op(maybe_get_output(), self);
  }
};

/// One operand; a bool result, or one of the type of `out`.
struct UnaryPredicate : at::TensorIteratorBase {
  void meta(const at::Tensor& self) {
    build_borrowing_unary_force_boolean_op(maybe_get_output(), self);
  }
};

/// Two operands; a result of their common type.
struct Binary : at::TensorIteratorBase {
  void meta(const at::Tensor& self, const at::Tensor& other) {
    build_borrowing_binary_op(maybe_get_output(), self, other);
  }
};

/// Two operands; a bool result, or one of the type of `out`.
struct BinaryPredicate : at::TensorIteratorBase {
  void meta(const at::Tensor& self, const at::Tensor& other) {
    build_borrowing_comparison_op(maybe_get_output(), self, other);
  }
};

/// A condition and two operands; a result of the operands' common type.
struct Where : at::TensorIteratorBase {
  void meta(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
    TORCH_CHECK(condition.scalar_type() == c10::ScalarType::Bool,
                "where expected condition to be a boolean tensor, but got a tensor with dtype ",
                condition.scalar_type());
    type_ = at::result_type(self, other);
    TORCH_CHECK(!maybe_get_output().defined() || maybe_get_output().scalar_type() == type_,
                "where: expected out of type ", type_, ", got ", maybe_get_output().scalar_type());
    build(at::TensorIteratorConfig()
              .set_check_mem_overlap(true)
              .check_all_same_dtype(false)
              .allow_cpu_scalars(true)
              .declare_static_dtype(type_)
              .add_output(maybe_get_output())
              .add_const_input(condition)
              .add_const_input(self)
              .add_const_input(other));
  }

  /// The type that the operands are brought to.
  c10::ScalarType common_dtype() const { return type_; }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};

}  // namespace torch_infini::meta

#endif  // TORCH_INFINI_OPS_ELEMENTWISE_META_H_
