#include "backends/cuda_like/host_task.h"

#include <cstring>

#include "core/thread_state.h"

namespace infini::rt::cuda_like {
namespace {

/// Marks the calling thread as one that runs a host task: such a thread must not call the runtime.
class HostTaskScope {
 public:
  HostTaskScope() noexcept : previous_(std::exchange(thread_state.runs_host_task, true)) {}
  HostTaskScope(const HostTaskScope&) = delete;
  HostTaskScope& operator=(const HostTaskScope&) = delete;
  ~HostTaskScope() { thread_state.runs_host_task = previous_; }

 private:
  bool previous_;
};

}  // namespace

HostTask::HostTask(HostFunction function, const void* arguments, std::size_t size,
                   std::shared_ptr<ErrorSlot> errors)
    : function_(function),
      arguments_(std::make_unique_for_overwrite<std::byte[]>(size)),
      errors_(std::move(errors)) {
  if (size != 0) std::memcpy(arguments_.get(), arguments, size);
}

void HostTask::RunOnce(void* payload) noexcept {
  const std::unique_ptr<const HostTask> task(static_cast<const HostTask*>(payload));
  task->Run();
}

void HostTask::RunRecorded(void* payload) noexcept { static_cast<const HostTask*>(payload)->Run(); }

void HostTask::Run() const noexcept {
  const HostTaskScope scope;
  try {
    function_(arguments_.get());
  } catch (...) {
    errors_->Keep(std::current_exception());
  }
}

void KeepForever(std::shared_ptr<const Recording> recording) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const Recording>>;
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(recording));
}

}  // namespace infini::rt::cuda_like
