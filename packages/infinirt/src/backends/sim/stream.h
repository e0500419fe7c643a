// Streams and events of the simulated accelerator.
#ifndef INFINI_RT_BACKENDS_SIM_STREAM_H_
#define INFINI_RT_BACKENDS_SIM_STREAM_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "infini/rt/runtime.h"

namespace infini::rt::sim {

/// A function, a copy of its arguments (in place when they are small) and an object that they refer
/// to.
class Task {
 public:
  Task() = default;
  Task(HostFunction function, const void* arguments, std::size_t size,
       std::shared_ptr<const void> owner = nullptr);

  void Run() const { function_(heap_ != nullptr ? heap_.get() : inline_); }

 private:
  static constexpr std::size_t kInlineSize = 256;

  HostFunction function_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<std::byte[]> heap_;
  alignas(std::max_align_t) std::byte inline_[kInlineSize];
};

/// A queue with a worker thread that runs its tasks in order.
class SimStream {
 public:
  SimStream();
  SimStream(const SimStream&) = delete;
  SimStream& operator=(const SimStream&) = delete;
  /// Runs what is queued, then ends the worker.
  ~SimStream();

  void Enqueue(Task task);
  bool IsIdle();
  void WaitIdle();
  /// Returns the first exception of a task since the last call, or null.
  std::exception_ptr TakeError();
  /// Stores `error` unless there is one already.
  void KeepError(std::exception_ptr error);

 private:
  void Work();
  void Abandon();

  std::mutex mutex_;
  std::condition_variable work_;  // there is a task, or the stream ends
  std::condition_variable idle_;  // no task is queued or running
  std::vector<Task>
      ring_;  // tasks [head_, head_ + count_) modulo its size, which is a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  bool running_ = false;
  bool ending_ = false;
  bool abandoned_ = false;  // a task ended the worker
  std::exception_ptr error_;
  std::thread worker_;  // last: it starts when everything above is there
};

/// A point in streams. Each record gets a ticket; the event is done when the task of the last
/// ticket ran.
class SimEvent : public std::enable_shared_from_this<SimEvent> {
 public:
  void Record(SimStream& stream);
  bool IsDone();
  void Wait();
  /// Makes `stream` wait for the last record so far.
  void BlockStream(SimStream& stream);
  std::chrono::steady_clock::time_point time();

 private:
  void Complete(std::uint64_t ticket);
  void WaitFor(std::uint64_t ticket);

  struct Arguments {
    SimEvent* event;
    std::uint64_t ticket;
  };

  std::mutex mutex_;
  std::condition_variable done_;
  std::uint64_t recorded_ = 0;
  std::uint64_t completed_ = 0;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace infini::rt::sim

#endif  // INFINI_RT_BACKENDS_SIM_STREAM_H_
