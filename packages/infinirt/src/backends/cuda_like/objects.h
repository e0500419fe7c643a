// The streams, events and graphs of a CUDA-like backend. Each owns its native
// object and never throws when destroyed.
#ifndef INFINI_RT_BACKENDS_CUDA_LIKE_OBJECTS_H_
#define INFINI_RT_BACKENDS_CUDA_LIKE_OBJECTS_H_

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/cuda_like/host_task.h"
#include "backends/cuda_like/sdk_calls.h"

namespace infini::rt::cuda_like {

/// Lets a thread that is capturing wait for work which the capture does not
/// concern.
template <typename Sdk>
class RelaxedCapture {
 public:
  RelaxedCapture()
      : is_exchanged_(SdkCalls<Sdk>::Try(Sdk::ThreadExchangeStreamCaptureMode, &mode_)) {}
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    if (is_exchanged_) SdkCalls<Sdk>::Try(Sdk::ThreadExchangeStreamCaptureMode, &mode_);
  }

 private:
  typename Sdk::CaptureMode mode_ = Sdk::kCaptureRelaxed;  // the other mode after each exchange
  bool is_exchanged_;
};

/// A stream of device `index`. The value-initialised native stream is the
/// default one.
template <typename Sdk>
class Stream {
 public:
  /// A stream that somebody else owns.
  Stream(int index, typename Sdk::NativeStream native) : index_(index), native_(native) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (!is_owned_) return;
    const RelaxedCapture<Sdk> relaxed;
    SdkCalls<Sdk>::Try(Sdk::StreamSynchronize, native_);
    SdkCalls<Sdk>::Try(Sdk::StreamDestroy, native_);
  }

  /// Creates a stream on the current device, which is `index`.
  static std::unique_ptr<Stream> Create(int index, int priority) {
    auto stream = std::make_unique<Stream>(index, typename Sdk::NativeStream{});
    SdkCalls<Sdk>::Check({Function::kStreamCreate, index}, Sdk::StreamCreateWithPriority,
                         &stream->native_, Sdk::kStreamNonBlocking, priority);
    stream->is_owned_ = true;
    return stream;
  }

  int index() const noexcept { return index_; }
  typename Sdk::NativeStream native() const noexcept { return native_; }

  /// Where host tasks that are queued now leave their exceptions.
  const std::shared_ptr<ErrorSlot>& errors() const noexcept { return errors_; }

  /// Has `TakeError` look at the host tasks of a graph, too, since the graph is
  /// launched here.
  void Watch(const std::shared_ptr<ErrorSlot>& graph_errors) {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(watched_, graph_errors) == watched_.end())
      watched_.push_back(graph_errors);
  }

  /// Takes the first exception of a host task that ran here.
  std::exception_ptr TakeError() {
    std::exception_ptr error = errors_->Take();
    const std::scoped_lock lock(mutex_);
    // Slots that nobody can fill any more are dropped on the way.
    std::erase_if(watched_, [&](const std::shared_ptr<ErrorSlot>& slot) {
      if (error != nullptr) return false;
      error = slot->Take();
      return slot.use_count() == 1;
    });
    return error;
  }

  /// Errors of the recording in progress; null when there is none or it has no
  /// host task yet. Only the capturing thread uses it.
  std::shared_ptr<ErrorSlot> capture_errors;

 private:
  int index_;
  typename Sdk::NativeStream native_;
  bool is_owned_ = false;
  std::shared_ptr<ErrorSlot> errors_ = std::make_shared<ErrorSlot>();
  std::mutex mutex_;
  std::vector<std::shared_ptr<ErrorSlot>> watched_;
};

template <typename Sdk>
class Event {
 public:
  /// Creates an event on the current device, which is `index`.
  Event(int index, unsigned flags) : index_(index) {
    SdkCalls<Sdk>::Check({Function::kEventCreate, index}, Sdk::EventCreateWithFlags, &native_,
                         flags);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { SdkCalls<Sdk>::Try(Sdk::EventDestroy, native_); }

  int index() const noexcept { return index_; }
  typename Sdk::NativeEvent native() const noexcept { return native_; }

 private:
  int index_;
  typename Sdk::NativeEvent native_{};
};

/// A recording.
template <typename Sdk>
class Graph {
 public:
  /// Ends the capture of `stream`, which can be used again whether or not that
  /// succeeds.
  explicit Graph(Stream<Sdk>& stream)
      : index_(stream.index()), errors_(std::exchange(stream.capture_errors, nullptr)) {
    SdkCalls<Sdk>::Check({Function::kStreamEndCapture, index_}, Sdk::StreamEndCapture,
                         stream.native(), &native_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { SdkCalls<Sdk>::Try(Sdk::GraphDestroy, native_); }

  int index() const noexcept { return index_; }
  typename Sdk::NativeGraph native() const noexcept { return native_; }

  /// Where the recorded host tasks leave their exceptions; null when there is
  /// no such task.
  const std::shared_ptr<ErrorSlot>& errors() const noexcept { return errors_; }

 private:
  int index_;
  std::shared_ptr<ErrorSlot> errors_;
  typename Sdk::NativeGraph native_{};
};

/// An instantiated graph. Destroying it waits for the launches whose host tasks
/// use what the core keeps alive.
template <typename Sdk>
class GraphExec {
  using Calls = SdkCalls<Sdk>;

 public:
  /// Instantiates `graph` while its device is current.
  explicit GraphExec(const Graph<Sdk>& graph) : index_(graph.index()), errors_(graph.errors()) {
    if (errors_ != nullptr)
      last_launch_ = std::make_unique<Event<Sdk>>(index_, Sdk::kEventNoTiming);
    Calls::Check({Function::kGraphInstantiate, index_}, Sdk::GraphInstantiate, &native_,
                 graph.native());
  }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;
  ~GraphExec() {
    const RelaxedCapture<Sdk> relaxed;
    // Launches of one graph run one after another, so the last one is the last
    // to end.
    if (last_launch_ != nullptr) Calls::Try(Sdk::EventSynchronize, last_launch_->native());
    Calls::Try(Sdk::GraphExecDestroy, native_);
  }

  void Launch(Stream<Sdk>& stream) {
    const std::scoped_lock lock(mutex_);  // SDKs do not let two threads use one graph
    const CallSite site{Function::kGraphLaunch, index_};
    if (errors_ != nullptr) stream.Watch(errors_);
    Calls::Check(site, Sdk::GraphLaunch, native_, stream.native());
    if (errors_ == nullptr) return;
    try {
      Calls::Check(site, Sdk::EventRecord, last_launch_->native(), stream.native());
    } catch (...) {
      Calls::Try(Sdk::StreamSynchronize,
                 stream.native());  // the destructor cannot wait for this
                                    // launch any more
      throw;
    }
  }

 private:
  int index_;
  std::shared_ptr<ErrorSlot> errors_;
  std::unique_ptr<Event<Sdk>> last_launch_;  // null without host tasks
  typename Sdk::NativeGraphExec native_{};
  std::mutex mutex_;
};

}  // namespace infini::rt::cuda_like

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_OBJECTS_H_
