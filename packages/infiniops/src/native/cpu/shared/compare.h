// Comparisons: six operators that share one kernel.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_COMPARE_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_COMPARE_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

/// What holds of the inputs; "greater" is "less" with exchanged inputs.
enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual };

using CompareTask = BinaryTask<struct CompareTag, Comparison>;
INFINI_OPS_CPU_KERNEL(CompareTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues a `CompareTask` that writes `out`, to which `input` and `other` broadcast.
void LaunchCompare(const char* op, const Context& context, Comparison what, const TensorView& input,
                   const TensorView& other, const TensorView& out);

/// The implementation of such an operator.
template <class Op, Comparison comparison, bool exchanged = false>
struct CompareOperator {
  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
    LaunchCompare(Op::kOperator, context, comparison, exchanged ? other : input,
                  exchanged ? input : other, out);
  }
};

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename T>
bool IsEqual(T a, T b) {
  return a == b;
}
inline bool IsEqual(Bool a, Bool b) { return (a.byte != 0) == (b.byte != 0); }
template <typename Real>
bool IsEqual(Complex<Real> a, Complex<Real> b) {
  return a.re == b.re && a.im == b.im;
}

/// Whether `T` has an order.
template <typename T>
inline constexpr bool kOrdered = true;
template <typename Real>
inline constexpr bool kOrdered<Complex<Real>> = false;

template <typename T>
bool IsLess(T a, T b) {
  return a < b;
}
inline bool IsLess(Bool a, Bool b) { return a.byte == 0 && b.byte != 0; }
template <typename T>
bool IsLessEqual(T a, T b) {
  return a <= b;
}
inline bool IsLessEqual(Bool a, Bool b) { return a.byte == 0 || b.byte != 0; }

template <typename T>
void CompareElements(Comparison comparison, const T* a, const T* b, std::uint8_t* out,
                     std::int64_t count) {
  const auto each = [&](auto holds) {
    INFINI_OPS_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(holds(a[i], b[i]));
  };
  switch (comparison) {
    case Comparison::kEqual:
      return each([](T x, T y) { return IsEqual(x, y); });
    case Comparison::kNotEqual:
      return each([](T x, T y) { return !IsEqual(x, y); });
    case Comparison::kLess:
      if constexpr (kOrdered<T>) each([](T x, T y) { return IsLess(x, y); });
      return;
    case Comparison::kLessEqual:
      if constexpr (kOrdered<T>) each([](T x, T y) { return IsLessEqual(x, y); });
      return;
  }
}

/// The block of elements stored as `T`.
template <typename T>
void CompareBlock(const char* const* inputs, char* out, std::int64_t count,
                  const void* comparison) {
  const auto what = *static_cast<const Comparison*>(comparison);
  const T* a = reinterpret_cast<const T*>(inputs[0]);
  const T* b = reinterpret_cast<const T*>(inputs[1]);
  auto* to = reinterpret_cast<std::uint8_t*>(out);
  if constexpr (std::is_same_v<T, Compute<T>>) {
    CompareElements<T>(what, a, b, to, count);
  } else {
    alignas(64) float x[kBlockElements];
    alignas(64) float y[kBlockElements];
    for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
      const std::int64_t length = count - begin < kBlockElements ? count - begin : kBlockElements;
      WidenBlock(a + begin, x, length);
      WidenBlock(b + begin, y, length);
      CompareElements<float>(what, x, y, to + begin, length);
    }
  }
}

void Run(const CompareTask& task) {
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    RunBlocks(task.loop, {1, kSize, kSize}, &CompareBlock<T>, &task.attributes);
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_COMPARE_H_
