// One call of an InfiniOps operator with operands of PyTorch.
#ifndef TORCH_INFINI_OPS_OPERATOR_CALL_H_
#define TORCH_INFINI_OPS_OPERATOR_CALL_H_

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "ops/call.h"
#include "ops/copy.h"
#include "ops/empty.h"

namespace torch_infini {

/// The element type of an operator's result.
struct ResultType {
  enum class Rule {
    kSame,   ///< The type that the operator computes in.
    kSum,    ///< That type, but int64 for bool and integers.
    kFixed,  ///< `fixed`, whatever the operator computes in.
  };

  Rule rule = Rule::kSame;
  c10::ScalarType fixed = c10::ScalarType::Undefined;

  constexpr c10::ScalarType Of(c10::ScalarType type) const {
    if (rule == Rule::kFixed) return fixed;
    const bool integral = c10::isIntegralType(type, /*includeBool=*/true);
    return rule == Rule::kSum && integral ? c10::ScalarType::Long : type;
  }
};

/// The type in which an operator computes that PyTorch gives operands of `type`
/// and a result of type `out`: that of the operands, unless only the other one
/// gives such a result.
inline c10::ScalarType ComputeType(c10::ScalarType type, c10::ScalarType out, ResultType result) {
  const bool fixed = result.rule == ResultType::Rule::kFixed;
  return fixed || result.Of(type) == out ? type : out;
}

/// Operands of another element type than the operator computes in, numbers, and
/// 0-dimensional operands on the CPU are brought to the device and the type
/// here; a result of another type is computed beside and converted at the end.
class OperatorCall {
 public:
  OperatorCall(const OperatorInfo& info, c10::Device device, c10::ScalarType type)
      : call_(device.index()), type_(type), device_(device) {
    CheckType(info, type, device);
  }

  const infini::ops::Context& context() const noexcept { return call_.context(); }

  /// An operand in the type of the computation.
  infini::rt::TensorView Input(const at::Tensor& tensor) {
    if (tensor.scalar_type() == type_ && tensor.device() == device_) [[likely]] {
      return call_.View(tensor);
    }
    return call_.View(ready_.emplace_back(tensor.device() == device_
                                              ? tensor.to(type_)
                                              : UploadNumber(tensor, type_, device_.index())));
  }

  infini::rt::TensorView Input(const at::Scalar& number) {
    return call_.View(ready_.emplace_back(UploadNumber(number, type_, device_.index())));
  }

  std::optional<infini::rt::TensorView> Input(const std::optional<at::Tensor>& tensor) {
    if (!tensor.has_value() || !tensor->defined()) return std::nullopt;
    return Input(*tensor);
  }

  /// A list of operands; those without elements are left out.
  std::vector<infini::rt::TensorView> Inputs(const at::ITensorListRef& tensors) {
    std::vector<infini::rt::TensorView> views;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.numel() > 0) views.push_back(Input(tensor));
    }
    return views;
  }

  /// An operand that has a type of its own, such as positions or a mask.
  infini::rt::TensorView Given(const at::Tensor& tensor) {
    if (tensor.device() == device_) return call_.View(tensor);
    return call_.View(
        ready_.emplace_back(UploadNumber(tensor, tensor.scalar_type(), device_.index())));
  }

  std::optional<infini::rt::TensorView> Given(const std::optional<at::Tensor>& tensor) {
    if (!tensor.has_value() || !tensor->defined()) return std::nullopt;
    return Given(*tensor);
  }

  /// A result that goes to `out`, which must outlive the call.
  infini::rt::TensorView Output(const at::Tensor& out, ResultType result) {
    const c10::ScalarType type = result.Of(type_);
    if (out.scalar_type() == type) [[likely]] {
      return call_.View(out);
    }
    const auto& converted = converted_.emplace_back(
        Converted{EmptyStrided(out.sizes(), out.strides(), type, device_.index()), &out});
    return call_.View(converted.result);
  }

  /// Converts results of another type than was asked for.
  void Finish() const {
    for (const Converted& item : converted_) Copy(item.result, *item.out, /*non_blocking=*/false);
  }

 private:
  struct Converted {
    at::Tensor result;
    const at::Tensor* out;
  };

  Call call_;
  c10::ScalarType type_;
  c10::Device device_;
  c10::SmallVector<at::Tensor, 3> ready_;  // keeps converted operands alive
  c10::SmallVector<Converted, 1> converted_;
};

/// Dimensions as InfiniOps takes them: none means all.
class Dims {
 public:
  explicit Dims(std::int64_t dim) : dims_{dim} {}
  explicit Dims(c10::IntArrayRef dims) : dims_(dims.begin(), dims.end()) {}
  explicit Dims(at::OptionalIntArrayRef dims) {
    if (dims.has_value()) dims_.append(dims->begin(), dims->end());
  }
  explicit Dims(std::optional<std::int64_t> dim) {
    if (dim.has_value()) dims_.push_back(*dim);
  }

  /// As long as this lives. A tensor without dimensions has none to name.
  std::span<const std::int64_t> Of(const at::Tensor& tensor) const {
    if (tensor.dim() == 0) return {};
    return {dims_.data(), dims_.size()};
  }

 private:
  c10::SmallVector<std::int64_t, 8> dims_;
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_OPERATOR_CALL_H_
