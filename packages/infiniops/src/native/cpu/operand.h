// A view that travels through a host task to code of somebody else.
#ifndef INFINI_OPS_NATIVE_CPU_OPERAND_H_
#define INFINI_OPS_NATIVE_CPU_OPERAND_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "infini/ops/context.h"
#include "native/cpu/kernel.h"

namespace infini::ops::cpu {

/// Highest rank that an operand carries.
inline constexpr int kMaxOperandRank = 8;

/// A `TensorView` that may be copied as bytes; `rank` -1 stands for an absent one. Strides count
/// elements.
struct Operand {
  void* data;
  int rank;
  rt::DataType dtype;
  std::int64_t sizes[kMaxOperandRank];
  std::int64_t strides[kMaxOperandRank];

  bool given() const noexcept { return rank >= 0; }
};

/// Describes `view`, whose rank is at most `kMaxOperandRank`; what uses it reaches its first
/// element at `data`.
inline Operand MakeOperand(const TensorView& view, void* data) {
  Operand operand{};
  operand.data = data;
  operand.rank = view.rank();
  operand.dtype = view.dtype();
  std::ranges::copy(view.shape(), operand.sizes);
  std::ranges::copy(view.strides(), operand.strides);
  return operand;
}
/// The same for a task on the host.
inline Operand MakeOperand(const TensorView& view) { return MakeOperand(view, TaskAddress(view)); }

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_OPERAND_H_
