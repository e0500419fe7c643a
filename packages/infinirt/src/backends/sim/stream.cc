#include "backends/sim/stream.h"

#include <cxxabi.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "backends/sim/controls.h"
#include "core/thread_state.h"
#include "infini/rt/error.h"

namespace infini::rt::sim {
namespace {

Error AbandonedError() {
  return Error(
      ErrorCode::kInvalidState, "LaunchHost", "sim",
      "a host task ended the worker thread of the stream (pthread_exit); the work behind it "
      "is lost, destroy the stream");
}

}  // namespace

Task::Task(HostFunction function, const void* arguments, std::size_t size,
           std::shared_ptr<const void> owner)
    : function_(function), owner_(std::move(owner)) {
  if (size > kInlineSize) heap_ = std::make_unique_for_overwrite<std::byte[]>(size);
  if (size != 0) std::memcpy(heap_ != nullptr ? heap_.get() : inline_, arguments, size);
}

SimStream::SimStream() : ring_(16), worker_([this] { Work(); }) {}

SimStream::~SimStream() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
  worker_.join();
}

void SimStream::Enqueue(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (abandoned_) throw AbandonedError();
    if (count_ == ring_.size()) {
      std::vector<Task> larger(2 * ring_.size());
      for (std::size_t i = 0; i < count_; ++i)
        larger[i] = std::move(ring_[(head_ + i) & (ring_.size() - 1)]);
      ring_ = std::move(larger);
      head_ = 0;
    }
    ring_[(head_ + count_) & (ring_.size() - 1)] = std::move(task);
    ++count_;
  }
  work_.notify_one();
}

bool SimStream::IsIdle() {
  const std::scoped_lock lock(mutex_);
  return count_ == 0 && !running_;
}

void SimStream::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return count_ == 0 && !running_; });
}

std::exception_ptr SimStream::TakeError() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(error_, nullptr);
}

// A forced unwind has no exception object, so the reference in its handler is null, and never used.
__attribute__((no_sanitize("null"))) void SimStream::Work() {
  thread_state.runs_host_task = true;
  // Signals are for the application's threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return count_ != 0 || ending_; });
    if (count_ == 0) return;
    std::exception_ptr error;
    {
      const Task task = std::move(ring_[head_]);
      head_ = (head_ + 1) & (ring_.size() - 1);
      --count_;
      running_ = true;
      lock.unlock();
      if (const std::chrono::microseconds delay = TaskDelay(); delay.count() > 0)
        std::this_thread::sleep_for(delay);
      try {
        task.Run();
      } catch (abi::__forced_unwind&) {
        // The task ends its thread (pthread_exit; Python does so when it shuts down). That cannot
        // be stopped, so the stream ends as a failed one whose waits return.
        Abandon();
        throw;
      } catch (...) {
        error = std::current_exception();
      }
      // The task and what it owns end here, without the lock.
    }
    lock.lock();
    running_ = false;
    if (error_ == nullptr) error_ = std::move(error);
    if (count_ == 0) idle_.notify_all();
  }
}

void SimStream::Abandon() {
  const std::scoped_lock lock(mutex_);
  abandoned_ = true;
  running_ = false;
  count_ = 0;
  if (error_ == nullptr) error_ = std::make_exception_ptr(AbandonedError());
  idle_.notify_all();
}

void SimStream::KeepError(std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
}

void SimEvent::Record(SimStream& stream) {
  // The lock covers the queueing: a wait for this ticket must not come before its record on a
  // stream.
  const std::scoped_lock lock(mutex_);
  const Arguments arguments{this, recorded_ + 1};
  stream.Enqueue(Task(
      [](const void* data) {
        const Arguments& on = *static_cast<const Arguments*>(data);
        on.event->Complete(on.ticket);
      },
      &arguments, sizeof arguments, shared_from_this()));
  ++recorded_;
}

bool SimEvent::IsDone() {
  const std::scoped_lock lock(mutex_);
  return completed_ >= recorded_;
}

void SimEvent::Wait() {
  std::uint64_t ticket = 0;
  {
    const std::scoped_lock lock(mutex_);
    ticket = recorded_;
  }
  WaitFor(ticket);
}

void SimEvent::BlockStream(SimStream& stream) {
  const std::scoped_lock lock(mutex_);
  const Arguments arguments{this, recorded_};
  stream.Enqueue(Task(
      [](const void* data) {
        const Arguments& on = *static_cast<const Arguments*>(data);
        on.event->WaitFor(on.ticket);
      },
      &arguments, sizeof arguments, shared_from_this()));
}

std::chrono::steady_clock::time_point SimEvent::time() {
  const std::scoped_lock lock(mutex_);
  return time_;
}

void SimEvent::Complete(std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  if (ticket > completed_) {
    completed_ = ticket;
    time_ = std::chrono::steady_clock::now();
  }
  done_.notify_all();
}

void SimEvent::WaitFor(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this, ticket] { return completed_ >= ticket; });
}

}  // namespace infini::rt::sim
