#include "core/fork.h"

#include <pthread.h>

#include <atomic>
#include <vector>

#include "core/thread_state.h"

namespace infini::rt {
namespace {

std::atomic<bool> in_forked_child{false};

struct ForkMutexes {
  std::mutex list_mutex;
  std::vector<std::mutex*> list;
  std::vector<void (*)()> child_functions;

  ForkMutexes() {
    pthread_atfork(
        [] {
          Instance().list_mutex.lock();
          for (std::mutex* mutex : Instance().list) mutex->lock();
        },
        [] { Unlock(); },
        [] {
          in_forked_child.store(true, std::memory_order_relaxed);
          MarkBackendsForked();
          for (void (*function)() : Instance().child_functions) function();
          Unlock();
        });
  }

  static void Unlock() {
    for (std::mutex* mutex : Instance().list) mutex->unlock();
    Instance().list_mutex.unlock();
  }

  // Never destroyed: fork() may be called while static objects are being destroyed.
  static ForkMutexes& Instance() {
    static ForkMutexes* const instance = new ForkMutexes;
    return *instance;
  }
};

// The handlers must be there even if no mutex is registered before the first fork.
const ForkMutexes& installed_at_load = ForkMutexes::Instance();

}  // namespace

void RegisterForkMutex(std::mutex* mutex) {
  ForkMutexes& mutexes = ForkMutexes::Instance();
  const std::scoped_lock lock(mutexes.list_mutex);
  mutexes.list.push_back(mutex);
}

void RegisterForkChild(void (*function)()) {
  ForkMutexes& mutexes = ForkMutexes::Instance();
  const std::scoped_lock lock(mutexes.list_mutex);
  mutexes.child_functions.push_back(function);
}

bool InForkedChild() noexcept { return in_forked_child.load(std::memory_order_relaxed); }

}  // namespace infini::rt
