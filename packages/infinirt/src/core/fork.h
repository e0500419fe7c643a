// What the library does around fork().
#ifndef INFINI_RT_CORE_FORK_H_
#define INFINI_RT_CORE_FORK_H_

#include <mutex>

namespace infini::rt {

/// Makes fork() hold `mutex`, so that the child never finds it locked by a thread that it does not
/// have. `mutex` must live as long as the process. Mutexes are taken in the order of registration;
/// code that nests them keeps it.
void RegisterForkMutex(std::mutex* mutex);

/// Makes a forked child call `function`, which must not take a mutex given to `RegisterForkMutex`:
/// the child holds them.
void RegisterForkChild(void (*function)());

/// Returns whether this process was forked after the library was loaded.
bool InForkedChild() noexcept;

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_FORK_H_
