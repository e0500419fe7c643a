// Runs sums and differences whose second operand has a factor.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_SCALED_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_SCALED_H_

#include "native/cpu/scaled.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Runs a task whose attributes are `ScaledAttributes`; `combine` takes and returns every type.
template <class Task, typename Combine>
void RunScaled(const Task& task, Combine combine) {
  const ScaledAttributes alpha = task.attributes;
  if (task.dtype == rt::DataType::kBool) {
    const Bool factor{static_cast<std::uint8_t>(alpha.integer != 0)};
    RunElements<Bool>(task, [=](Bool a, Bool b) { return combine(a, Multiply(factor, b)); });
  } else if (rt::IsInteger(task.dtype)) {
    RunIntegersBySize(task, [=](auto a, auto b) {
      return combine(a, Multiply(static_cast<decltype(b)>(alpha.integer), b));
    });
  } else if (rt::IsComplex(task.dtype)) {
    RunComplex(task, [=](auto a, auto b) {
      const decltype(b) factor{static_cast<decltype(b.re)>(alpha.real),
                               static_cast<decltype(b.re)>(alpha.imaginary)};
      return combine(a, alpha.is_one ? b : Multiply(factor, b));
    });
  } else if (alpha.is_one) {
    RunFloating(task, [=](auto a, auto b) { return combine(a, b); });
  } else {
    RunFloating(task, [=](auto a, auto b) {
      if constexpr (std::is_same_v<decltype(b), double>) {
        return combine(a, alpha.real * b);
      } else {
        return combine(a, static_cast<float>(alpha.real) * b);
      }
    });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_SCALED_H_
