// Parallel loops on the GNU OpenMP runtime, entered directly: the library that PyTorch loads under
// the same SONAME, so both share one pool of threads, whatever compiler built this file. Work is
// partitioned here, not by the runtime.
#include "infini/rt/parallel.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

#include "core/fork.h"
#include "core/thread_state.h"
#include "infini/rt/error.h"

// The C interface of libgomp, which it keeps stable for code that GCC has compiled.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned thread_count, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_in_parallel(void);
}

#if defined(__SANITIZE_THREAD__)
#define INFINI_RT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INFINI_RT_TSAN 1
#endif
#endif

#ifdef INFINI_RT_TSAN
// libgomp is not instrumented: these tell the sanitizer that it orders the region's start and end.
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define INFINI_RT_ACQUIRE(address) __tsan_acquire(address)
#define INFINI_RT_RELEASE(address) __tsan_release(address)
#else
#define INFINI_RT_ACQUIRE(address) static_cast<void>(address)
#define INFINI_RT_RELEASE(address) static_cast<void>(address)
#endif

namespace infini::rt {
namespace {

// libgomp lays out a team on the caller's stack, so a number of threads far beyond any machine's
// ends the process.
constexpr int kMaxThreads = 1024;

std::atomic<int> thread_limit{0};  // 0 until set

constinit thread_local bool in_parallel = false;

struct Region {
  std::int64_t n;
  std::int64_t grain;
  const internal::RangeFunction& function;
  std::atomic_flag failed{};
  std::exception_ptr error{};
  char begun = 0;  // addresses for the sanitizer
  char ended = 0;

  // A forced unwind has no exception object, so the reference in its handler is null, and never
  // used.
  __attribute__((no_sanitize("null"))) void RunShare(std::int64_t part, std::int64_t parts) {
    const std::int64_t chunks = (n - 1) / grain + 1;
    const std::int64_t first = chunks / parts * part + std::min(part, chunks % parts);
    const std::int64_t last = first + chunks / parts + (part < chunks % parts ? 1 : 0);
    if (first == last) return;
    try {
      function(first * grain, last == chunks ? n : last * grain);
    } catch (abi::__forced_unwind&) {
      throw;  // the thread ends
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }

  static void RunThread(void* data) {
    Region& region = *static_cast<Region*>(data);
    INFINI_RT_ACQUIRE(&region.begun);
    in_parallel = true;
    region.RunShare(omp_get_thread_num(), omp_get_num_threads());
    in_parallel = false;
    INFINI_RT_RELEASE(&region.ended);
  }
};

bool MustRunInline() {
  return in_parallel || thread_state.runs_host_task || InForkedChild() || omp_in_parallel() != 0;
}

}  // namespace

void ParallelFor(std::int64_t n, std::int64_t grain, internal::RangeFunction function) {
  if (n < 0 || grain <= 0) {
    throw Error(ErrorCode::kInvalidArgument, "ParallelFor", "",
                n < 0 ? "n is " + std::to_string(n) + "; expected 0 or more"
                      : "grain is " + std::to_string(grain) + "; expected 1 or more");
  }
  if (n == 0) return;
  if (n <= grain || GetNumThreads() == 1 || MustRunInline()) {
    function(0, n);
    return;
  }
  const std::int64_t chunks = (n - 1) / grain + 1;
  Region region{n, grain, function};
  INFINI_RT_RELEASE(&region.begun);
  GOMP_parallel(&Region::RunThread, &region,
                static_cast<unsigned>(std::min<std::int64_t>(chunks, GetNumThreads())), 0);
  INFINI_RT_ACQUIRE(&region.ended);
  if (region.error != nullptr) std::rethrow_exception(region.error);
}

int GetNumThreads() noexcept {
  const int limit = thread_limit.load(std::memory_order_relaxed);
  return limit != 0 ? limit : std::clamp(omp_get_max_threads(), 1, kMaxThreads);
}

void SetNumThreads(int count) {
  if (count <= 0 || count > kMaxThreads) {
    throw Error(
        ErrorCode::kInvalidArgument, "SetNumThreads", "",
        "count is " + std::to_string(count) + "; expected 1 to " + std::to_string(kMaxThreads));
  }
  thread_limit.store(count, std::memory_order_relaxed);
}

bool InParallelRegion() noexcept { return in_parallel; }

}  // namespace infini::rt
