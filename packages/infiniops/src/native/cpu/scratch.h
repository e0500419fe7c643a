// Scratch memory beyond what kernels need to know; `Scratch` itself is declared in kernel.h.
#ifndef INFINI_OPS_NATIVE_CPU_SCRATCH_H_
#define INFINI_OPS_NATIVE_CPU_SCRATCH_H_

#include <cstddef>

namespace infini::ops::cpu {

/// Frees the scratch memory of the calling thread, in which no kernel may be running.
void ReleaseScratch() noexcept;

/// While it lives, `Scratch(ScratchPurpose::kShared, ...)` of this thread gives the caller's
/// memory, as long as that is large enough.
class LentScratch {
 public:
  LentScratch(void* data, std::size_t bytes) noexcept;
  ~LentScratch();
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;
};

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_SCRATCH_H_
