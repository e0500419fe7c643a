// bitwise_not for the CPU: see src/base/bitwise_not.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_BITWISE_NOT_H_
#define INFINI_OPS_NATIVE_CPU_OPS_BITWISE_NOT_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using BitwiseNotTask = UnaryTask<struct BitwiseNotTag>;
INFINI_OPS_CPU_KERNEL(BitwiseNotTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const BitwiseNotTask& task) {
  if (task.dtype == rt::DataType::kBool) {
    RunElements<Bool>(task, [](Bool x) { return Bool{static_cast<std::uint8_t>(x.byte == 0)}; });
  } else {
    RunIntegersBySize(task, [](auto x) { return static_cast<decltype(x)>(~x); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/bitwise_not.h"

namespace infini::ops {

template <>
struct Operator<BitwiseNot, Device::Type::kCpu, 0>
    : cpu::UnaryOperator<BitwiseNot, cpu::BitwiseNotTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_BITWISE_NOT_H_
