// log for the CPU: see src/base/log.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LOG_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LOG_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

using LogTask = UnaryTask<struct LogTag>;
INFINI_OPS_CPU_KERNEL(LogTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const LogTask& task) {
  RunFloating(task, [](auto x) { return Log(x); });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/log.h"

namespace infini::ops {

template <>
struct Operator<Log, Device::Type::kCpu, 0> : cpu::UnaryOperator<Log, cpu::LogTask> {
  static constexpr char kName[] = "native";
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LOG_H_
