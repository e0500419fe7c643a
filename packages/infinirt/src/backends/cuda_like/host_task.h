// Host tasks as the payload of an SDK's host function.
#ifndef INFINI_RT_BACKENDS_CUDA_LIKE_HOST_TASK_H_
#define INFINI_RT_BACKENDS_CUDA_LIKE_HOST_TASK_H_

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "infini/rt/runtime.h"

namespace infini::rt::cuda_like {

/// The first exception of the host tasks of one stream or graph, until somebody takes it.
class ErrorSlot {
 public:
  void Keep(std::exception_ptr error) noexcept {
    const std::scoped_lock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }

  std::exception_ptr Take() noexcept {
    const std::scoped_lock lock(mutex_);
    return std::exchange(error_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// A function with a copy of its arguments. Its exception goes to `errors`, which may outlive the
/// stream.
class HostTask {
 public:
  HostTask(HostFunction function, const void* arguments, std::size_t size,
           std::shared_ptr<ErrorSlot> errors);

  /// Host function of the SDK for a task that runs once: deletes the task at `payload` afterwards.
  static void RunOnce(void* payload) noexcept;

  /// Host function of the SDK for a task that a `Recording` keeps alive.
  static void RunRecorded(void* payload) noexcept;

 private:
  void Run() const noexcept;

  HostFunction function_;
  std::unique_ptr<std::byte[]> arguments_;  // aligned for every fundamental type
  std::shared_ptr<ErrorSlot> errors_;
};

/// The host tasks of a recording. Whatever may run them shares it.
struct Recording {
  std::shared_ptr<ErrorSlot> errors = std::make_shared<ErrorSlot>();
  std::vector<std::unique_ptr<HostTask>> tasks;
};

/// Keeps `recording` for as long as the process runs, because nobody can say any more when its
/// tasks are done.
void KeepForever(std::shared_ptr<const Recording> recording);

}  // namespace infini::rt::cuda_like

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_HOST_TASK_H_
