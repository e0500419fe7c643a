// mul for the CPU: see src/base/mul.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_MUL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_MUL_H_

#include "native/cpu/binary.h"

namespace infini::ops::cpu {

using MulTask = BinaryTask<struct MulTag>;
INFINI_OPS_CPU_KERNEL(MulTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/arithmetic.h"
#include "native/cpu/vector/elementwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const MulTask& task) {
  RunBinaryTask(task, [](auto a, auto b) { return Multiply(a, b); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/mul.h"

namespace infini::ops {

template <>
struct Operator<Mul, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
    cpu::LaunchBinary<cpu::MulTask>(Mul::kOperator, context, input, other, out);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_MUL_H_
