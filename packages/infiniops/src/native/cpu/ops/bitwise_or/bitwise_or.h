// bitwise_or for the CPU: see src/base/bitwise_or.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_BITWISE_OR_H_
#define INFINI_OPS_NATIVE_CPU_OPS_BITWISE_OR_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using BitwiseOrTask = BinaryTask<struct BitwiseOrTag>;
INFINI_OPS_CPU_KERNEL(BitwiseOrTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const BitwiseOrTask& task) {
  if (task.dtype == rt::DataType::kBool) {
    RunElements<Bool>(task, [](Bool a, Bool b) {
      return Bool{static_cast<std::uint8_t>((a.byte != 0) | (b.byte != 0))};
    });
  } else {
    RunIntegersBySize(task, [](auto a, auto b) { return static_cast<decltype(a)>(a | b); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/bitwise_or.h"

namespace infini::ops {

template <>
struct Operator<BitwiseOr, Device::Type::kCpu, 0>
    : cpu::BinaryOperator<BitwiseOr, cpu::BitwiseOrTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_BITWISE_OR_H_
