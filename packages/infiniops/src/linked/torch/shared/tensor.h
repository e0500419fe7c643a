// Tensors for the torch transport: where a task runs, an `Operand` becomes an `at::Tensor` over the
// same memory.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_TENSOR_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_TENSOR_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/operator.h"
#include "infini/ops/context.h"
#include "native/cpu/operand.h"

namespace infini::ops::linked {

using cpu::Operand;

/// Describes `view` for the provider's code: host tasks of the CPU and the sim device, or code that
/// queues work on an accelerator.
inline Operand MakeOperand(const TensorView& view) {
  const Device::Type type = view.device().type();
  const bool by_task = type == Device::Type::kCpu || type == Device::Type::kSim;
  return by_task ? cpu::MakeOperand(view) : cpu::MakeOperand(view, view.data());
}
inline Operand MakeOperand(const std::optional<TensorView>& view) {
  if (view) return MakeOperand(*view);
  Operand absent{};
  absent.rank = -1;
  return absent;
}

/// PyTorch's name of an element type; none where it has no such type.
inline std::optional<at::ScalarType> ScalarTypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kBool:
      return at::kBool;
    case DataType::kInt8:
      return at::kChar;
    case DataType::kInt16:
      return at::kShort;
    case DataType::kInt32:
      return at::kInt;
    case DataType::kInt64:
      return at::kLong;
    case DataType::kUInt8:
      return at::kByte;
    case DataType::kFloat16:
      return at::kHalf;
    case DataType::kBFloat16:
      return at::kBFloat16;
    case DataType::kFloat32:
      return at::kFloat;
    case DataType::kFloat64:
      return at::kDouble;
    default:
      return std::nullopt;
  }
}

/// A tensor of the back end's device over the memory of `operand`, which outlives it.
template <class Backend>
at::Tensor ToTensor(const Operand& operand) {
  const auto rank = static_cast<std::size_t>(operand.rank);
  return at::from_blob(
      operand.data, at::IntArrayRef(operand.sizes, rank), at::IntArrayRef(operand.strides, rank),
      at::TensorOptions().dtype(ScalarTypeOf(operand.dtype).value()).device(Backend::Identity()));
}

/// An output for a provider that writes contiguous tensors alone: the tensor itself, or a
/// contiguous stand-in that `CopyBack` copies to it.
class Staged {
 public:
  explicit Staged(at::Tensor target)
      : target_(std::move(target)),
        tensor_(target_.is_contiguous() ? target_ : at::empty(target_.sizes(), target_.options())) {
  }
  /// The same for what is read before it is written.
  static Staged Copied(at::Tensor target) {
    Staged staged(std::move(target));
    if (!staged.tensor_.is_same(staged.target_)) staged.tensor_.copy_(staged.target_);
    return staged;
  }

  at::Tensor& tensor() noexcept { return tensor_; }
  void CopyBack() {
    if (!tensor_.is_same(target_)) target_.copy_(tensor_);
  }

 private:
  at::Tensor target_;
  at::Tensor tensor_;
};

/// Whether every view fits an operand and has one of `dtypes`; the reason otherwise.
inline Support SupportsFloats(const TensorView& input, const TensorView& out) {
  for (const TensorView* view : {&input, &out}) {
    if (view->rank() > cpu::kMaxOperandRank) {
      return Support::No("it takes tensors of rank " + std::to_string(cpu::kMaxOperandRank) +
                         " at most");
    }
  }
  if (input.dtype() != DataType::kFloat32 && input.dtype() != DataType::kBFloat16 &&
      input.dtype() != DataType::kFloat16) {
    return Support::No(std::string("it has no kernel for ") + rt::DataTypeName(input.dtype()));
  }
  return Support::Yes();
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_TENSOR_H_
