// Logical operators: four that share one kernel.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_LOGICAL_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_LOGICAL_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

/// What is asked of the elements; `kNot` ignores the second one.
enum class Logic { kAnd, kOr, kXor, kNot };

using LogicalTask = BinaryTask<struct LogicalTag, Logic>;
INFINI_OPS_CPU_KERNEL(LogicalTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues a `LogicalTask` that writes `out`, to which `input` and `other` broadcast.
void LaunchLogical(const char* op, const Context& context, Logic what, const TensorView& input,
                   const TensorView& other, const TensorView& out);

/// The implementation of such an operator of two inputs.
template <class Op, Logic logic>
struct LogicalOperator {
  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
    LaunchLogical(Op::kOperator, context, logic, input, other, out);
  }
};

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename T>
bool IsTrue(T value) {
  return value != 0;
}
inline bool IsTrue(Bool value) { return value.byte != 0; }
inline bool IsTrue(BFloat16 value) { return (value.bits & 0x7fff) != 0; }
inline bool IsTrue(Float16 value) { return (value.bits & 0x7fff) != 0; }
template <typename Real>
bool IsTrue(Complex<Real> value) {
  return value.re != 0 || value.im != 0;
}

/// The block of elements stored as `T`.
template <typename T>
void LogicalBlock(const char* const* inputs, char* out, std::int64_t count, const void* logic) {
  const T* a = reinterpret_cast<const T*>(inputs[0]);
  const T* b = reinterpret_cast<const T*>(inputs[1]);
  auto* to = reinterpret_cast<std::uint8_t*>(out);
  const auto each = [&](auto holds) {
    INFINI_OPS_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::uint8_t>(holds(IsTrue(a[i]), IsTrue(b[i])));
    }
  };
  switch (*static_cast<const Logic*>(logic)) {
    case Logic::kAnd:
      return each([](bool x, bool y) { return x & y; });
    case Logic::kOr:
      return each([](bool x, bool y) { return x | y; });
    case Logic::kXor:
      return each([](bool x, bool y) { return x ^ y; });
    case Logic::kNot:
      return each([](bool x, bool) { return !x; });
  }
}

void Run(const LogicalTask& task) {
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    RunBlocks(task.loop, {1, kSize, kSize}, &LogicalBlock<T>, &task.attributes);
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_LOGICAL_H_
