#include "core/host_tasks.h"

#include <cstring>
#include <utility>

namespace infini::rt {

void CopyTask::Run(const void* arguments) {
  const CopyTask& task = *static_cast<const CopyTask*>(arguments);
  std::memmove(task.target, task.source, task.bytes);
}

void FillTask::Run(const void* arguments) {
  const FillTask& task = *static_cast<const FillTask*>(arguments);
  std::memset(task.data, task.value, task.bytes);
}

void EnqueueHostTask(const Backend& backend, StreamUse stream, Capture* capture,
                     HostFunction function, const void* arguments, std::size_t size) {
  if (capture != nullptr) {
    capture->tasks.Append(function, arguments, size);
    return;
  }
  if (backend.has(Capability::kAsyncStreams)) {
    backend.enqueue(stream.native, function, arguments, size);
    return;
  }
  void* const native = stream.native;
  stream.record = {};
  backend.enqueue(native, function, arguments, size);
}

}  // namespace infini::rt
