// Copies: the task of copy and cat.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_COPY_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_COPY_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct CopyTask {
  StridedLoop<2> loop;
  std::int64_t size;  // of an element in bytes
};
INFINI_OPS_CPU_KERNEL(CopyTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues a copy of `from` to `to`, which have one dtype and shape.
void LaunchCopy(const char* op, const Context& context, const TensorView& from,
                const TensorView& to);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/copy.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const CopyTask& task) { CopyLoop(task.loop, task.size); }

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_COPY_H_
