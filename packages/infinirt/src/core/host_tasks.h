// Host tasks for copies and fills, and the one place that runs or records a host task.
#ifndef INFINI_RT_CORE_HOST_TASKS_H_
#define INFINI_RT_CORE_HOST_TASKS_H_

#include <cstddef>

#include "core/backend.h"
#include "core/stream_record.h"

namespace infini::rt {

struct CopyTask {
  void* target;
  const void* source;
  std::size_t bytes;

  static void Run(const void* arguments);
};

struct FillTask {
  void* data;
  int value;
  std::size_t bytes;

  static void Run(const void* arguments);
};

/// Records `function` into `capture`, or has a host-task backend run it on `stream` if there is
/// none. The stream may be destroyed by a task that runs directly, so the look-up ends before.
void EnqueueHostTask(const Backend& backend, StreamUse stream, Capture* capture,
                     HostFunction function, const void* arguments, std::size_t size);

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_HOST_TASKS_H_
