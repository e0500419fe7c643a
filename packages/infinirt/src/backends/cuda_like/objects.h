// The streams, events and graphs of a CUDA-like backend. Each owns its native object and never
// throws when destroyed.
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
#include "core/thread_state.h"

namespace infini::rt::cuda_like {

/// Lets a thread that is capturing ask and wait for work which the capture does not concern.
template <typename Sdk>
class RelaxedCapture {
 public:
  RelaxedCapture()
      : is_exchanged_(thread_state.captures != 0 &&
                      SdkCalls<Sdk>::Try(Sdk::kThreadExchangeStreamCaptureMode, &mode_)) {}
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    if (is_exchanged_) SdkCalls<Sdk>::Try(Sdk::kThreadExchangeStreamCaptureMode, &mode_);
  }

 private:
  typename Sdk::CaptureMode mode_ = Sdk::kCaptureRelaxed;  // the other mode after each exchange
  bool is_exchanged_;
};

/// A stream of device `index`. The value-initialised native stream is the default one.
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
    SdkCalls<Sdk>::Try(Sdk::kStreamSynchronize, native_);
    SdkCalls<Sdk>::Try(Sdk::kStreamDestroy, native_);
  }

  /// Creates a stream on the current device, which is `index`.
  static std::unique_ptr<Stream> Create(int index, int priority) {
    auto stream = std::make_unique<Stream>(index, typename Sdk::NativeStream{});
    SdkCalls<Sdk>::Check({Function::kStreamCreate, index}, Sdk::kStreamCreateWithPriority,
                         &stream->native_, Sdk::kStreamNonBlocking, priority);
    stream->is_owned_ = true;
    return stream;
  }

  int index() const noexcept { return index_; }
  typename Sdk::NativeStream native() const noexcept { return native_; }

  /// Where host tasks that are queued now leave their exceptions.
  const std::shared_ptr<ErrorSlot>& errors() const noexcept { return errors_; }

  /// Has `TakeError` look at the host tasks of a graph, too, since the graph is launched here.
  void Watch(const std::shared_ptr<ErrorSlot>& graph_errors) {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(watched_, graph_errors) != watched_.end()) return;
    watched_.push_back(graph_errors);
  }

  /// Takes the first exception of a host task that ran here; later ones are dropped.
  std::exception_ptr TakeError() {
    std::exception_ptr error = errors_->Take();
    const std::scoped_lock lock(mutex_);
    // Slots that nobody can fill any more are forgotten on the way.
    std::erase_if(watched_, [&](const std::shared_ptr<ErrorSlot>& slot) {
      const std::exception_ptr of_graph = slot->Take();
      if (error == nullptr) error = of_graph;
      return slot.use_count() == 1;
    });
    return error;
  }

  /// The recording in progress; null when there is none. Only the capturing thread uses it.
  std::shared_ptr<Recording> recording;

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
    SdkCalls<Sdk>::Check({Function::kEventCreate, index}, Sdk::kEventCreateWithFlags, &native_,
                         flags);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { SdkCalls<Sdk>::Try(Sdk::kEventDestroy, native_); }

  int index() const noexcept { return index_; }
  typename Sdk::NativeEvent native() const noexcept { return native_; }

 private:
  int index_;
  typename Sdk::NativeEvent native_{};
};

/// Recorded work.
template <typename Sdk>
class Graph {
 public:
  /// Ends the capture of `stream`, which can be used again whether or not that succeeds.
  explicit Graph(Stream<Sdk>& stream)
      : index_(stream.index()), recording_(std::exchange(stream.recording, nullptr)) {
    SdkCalls<Sdk>::Check({Function::kStreamEndCapture, index_}, Sdk::kStreamEndCapture,
                         stream.native(), &native_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { SdkCalls<Sdk>::Try(Sdk::kGraphDestroy, native_); }

  int index() const noexcept { return index_; }
  typename Sdk::NativeGraph native() const noexcept { return native_; }
  const std::shared_ptr<const Recording>& recording() const noexcept { return recording_; }

 private:
  int index_;
  std::shared_ptr<const Recording> recording_;
  typename Sdk::NativeGraph native_{};
};

/// An instantiated graph. Destroying it waits for its launches unless the SDK keeps what they need.
template <typename Sdk>
class GraphExec {
  using Calls = SdkCalls<Sdk>;

 public:
  /// Instantiates `graph` while its device is current.
  explicit GraphExec(const Graph<Sdk>& graph)
      : index_(graph.index()), recording_(graph.recording()) {
    if (!Sdk::kKeepsRunningGraphs || HasHostTasks()) {
      last_launch_ = std::make_unique<Event<Sdk>>(index_, Sdk::kEventNoTiming);
    }
    Calls::Check({Function::kGraphInstantiate, index_}, Sdk::kGraphInstantiate, &native_,
                 graph.native());
  }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;
  ~GraphExec() {
    // Launches of one graph run one after another, so the last one is the last to end.
    const RelaxedCapture<Sdk> relaxed;
    if (last_launch_ != nullptr && !Calls::Try(Sdk::kEventSynchronize, last_launch_->native())) {
      KeepForever(recording_);
    }
    Calls::Try(Sdk::kGraphExecDestroy, native_);
  }

  void Launch(Stream<Sdk>& stream) {
    const std::scoped_lock lock(mutex_);  // SDKs do not let two threads use one graph
    const CallSite site{Function::kGraphLaunch, index_};
    if (HasHostTasks()) stream.Watch(recording_->errors);
    Calls::Check(site, Sdk::kGraphLaunch, native_, stream.native());
    if (last_launch_ == nullptr) return;
    try {
      Calls::Check(site, Sdk::kEventRecord, last_launch_->native(), stream.native());
    } catch (...) {
      // The destructor cannot wait for this launch.
      if (!Calls::Try(Sdk::kStreamSynchronize, stream.native())) KeepForever(recording_);
      throw;
    }
  }

 private:
  bool HasHostTasks() const noexcept { return !recording_->tasks.empty(); }

  int index_;
  std::shared_ptr<const Recording> recording_;
  std::unique_ptr<Event<Sdk>> last_launch_;  // null when the destructor need not wait
  typename Sdk::NativeGraphExec native_{};
  std::mutex mutex_;
};

}  // namespace infini::rt::cuda_like

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_OBJECTS_H_
