// mul for the CPU: see src/base/mul.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_MUL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_MUL_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using MulTask = BinaryTask<struct MulTag>;
INFINI_OPS_CPU_KERNEL(MulTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const MulTask& task) {
  if (task.dtype == rt::DataType::kBool) {
    RunElements<Bool>(task, [](Bool a, Bool b) { return Multiply(a, b); });
  } else if (rt::IsInteger(task.dtype)) {
    RunIntegersBySize(task, [](auto a, auto b) { return Multiply(a, b); });
  } else if (rt::IsComplex(task.dtype)) {
    RunComplex(task, [](auto a, auto b) { return Multiply(a, b); });
  } else {
    RunFloating(task, [](auto a, auto b) { return a * b; });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/mul.h"

namespace infini::ops {

template <>
struct Operator<Mul, Device::Type::kCpu, 0> : cpu::BinaryOperator<Mul, cpu::MulTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_MUL_H_
