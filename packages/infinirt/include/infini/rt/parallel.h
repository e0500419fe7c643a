// Parallel loops on the host.
#ifndef INFINI_RT_PARALLEL_H_
#define INFINI_RT_PARALLEL_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "infini/rt/abi.h"

namespace infini::rt {

namespace internal {

/// A borrowed callable over [begin, end), so that the loop below needs neither a template nor the
/// heap.
class RangeFunction {
 public:
  template <typename Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, RangeFunction>)
  RangeFunction(Function&& function) noexcept  // converts implicitly, as a parameter type must
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<std::remove_reference_t<Function>*>(object))(begin, end);
        }) {}

  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

}  // namespace internal

/// Calls `function(begin, end)` on disjoint ranges that together cover [0, `n`), possibly on
/// several threads, and waits.
///
/// Every range starts at a multiple of `grain` and, but for the last one, ends at one; a loop of at
/// most `grain` runs on the calling thread as one range. Which ranges there are depends on the
/// number of threads, so a function whose result depends on them must itself go by `grain`. The
/// first exception is rethrown here after all ranges ended.
///
/// Uses the OpenMP pool of the calling thread (the one PyTorch uses). Runs on the calling thread
/// alone when nested, on workers of the sim backend, and in a child after fork. Throws `Error` when
/// `n` is negative or `grain` not positive.
INFINI_RT_EXPORT void ParallelFor(std::int64_t n, std::int64_t grain,
                                  internal::RangeFunction function);

/// Returns the largest number of threads that `ParallelFor` uses: OMP_NUM_THREADS, or the number of
/// usable cores, until `SetNumThreads` changes it.
INFINI_RT_EXPORT int GetNumThreads() noexcept;

/// Sets the largest number of threads for the whole process. Throws `Error` when `count` is not
/// from 1 to 1024. A system that cannot give that many threads makes the OpenMP runtime end the
/// process.
INFINI_RT_EXPORT void SetNumThreads(int count);

/// Returns whether the calling thread runs a range of a `ParallelFor` that was split. A loop that
/// ran as one range on its caller does not count.
INFINI_RT_EXPORT bool InParallelRegion() noexcept;

}  // namespace infini::rt

#endif  // INFINI_RT_PARALLEL_H_
