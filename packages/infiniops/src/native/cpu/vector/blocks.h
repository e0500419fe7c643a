// Parallel loops over blocks of different cost.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_

#include <infini/rt/parallel.h>

#include <cstdint>

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Calls `function(i)` once for each i in [0, `count`), on as many threads as there are blocks. A
/// thread that is done takes the next block, so one that the system holds up does not hold up the
/// others: what a block computes must not depend on who computes it.
template <typename Function>
void ForEachBlock(std::int64_t count, Function function) {
  const std::int64_t threads = rt::GetNumThreads();
  std::int64_t next = 0;
  rt::ParallelFor(count < threads ? count : threads, 1, [&](std::int64_t, std::int64_t) {
    for (;;) {
      const std::int64_t index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
      if (index >= count) return;
      function(index);
    }
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_
