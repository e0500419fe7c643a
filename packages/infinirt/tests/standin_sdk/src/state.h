// The state behind the stand-in SDK, and the frame around each of its functions.
#ifndef STANDIN_SDK_SRC_STATE_H_
#define STANDIN_SDK_SRC_STATE_H_

#include STANDIN_HEADER

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "standin.h"

#define STANDIN_PASTE(prefix, name) prefix##name
#define STANDIN_PASTE_EXPANDED(prefix, name) STANDIN_PASTE(prefix, name)
#define STANDIN_STRING(text) #text
#define STANDIN_STRING_EXPANDED(text) STANDIN_STRING(text)

/// The vendor's name of something: SDK(Malloc) is cudaMalloc, mcMalloc, ...
#define SDK(name) STANDIN_PASTE_EXPANDED(STANDIN_PREFIX, name)
/// The same as a string.
#define SDK_NAME(name) STANDIN_STRING_EXPANDED(STANDIN_PREFIX) #name

namespace standin {

using Status = SDK(Error_t);
using CaptureMode = SDK(StreamCaptureMode);

inline constexpr Status kSuccess = SDK(Success);
inline constexpr Status kInvalidValue = SDK(ErrorInvalidValue);
inline constexpr Status kInvalidHandle = SDK(ErrorInvalidResourceHandle);
inline constexpr Status kIllegalState = SDK(ErrorIllegalState);
inline constexpr Status kCaptureUnsupported = SDK(ErrorStreamCaptureUnsupported);

/// Work of a stream. It runs without the lock, since host functions may take any time.
using Work = std::function<Status()>;

struct DeviceMemory {
  int device;
  std::size_t bytes;
  bool is_from_pool;
};

/// Work that a stream has not done yet.
struct Queue {
  int device;
  std::deque<Work> work;
};

/// What an event marks.
struct Point {
  std::shared_ptr<Queue> queue;
  bool is_done = false;
  std::chrono::steady_clock::time_point time;
};

struct Capture {
  CaptureMode mode;
  std::thread::id owner;
  bool is_valid = true;
  std::vector<Work> work;
};

/// Everything that is alive. Guarded by `mutex`.
struct State {
  State();

  std::mutex mutex;
  int device_count;
  bool is_lazy;
  std::size_t memory_per_device;
  std::vector<std::shared_ptr<Queue>> default_queues;  // by device
  std::vector<std::shared_ptr<Queue>> queues;          // all, those of destroyed streams too
  std::map<std::uintptr_t, DeviceMemory> device_memory;
  std::set<void*> host_memory;
  std::set<SDK(Stream_t)> streams;
  std::set<SDK(Event_t)> events;
  std::set<SDK(Graph_t)> graphs;
  std::set<SDK(GraphExec_t)> graph_execs;

  std::size_t calls = 0;
  std::string fault_function;  // empty: any
  std::size_t fault_countdown = 0;
  Status fault_status = kSuccess;
  const char* faulted_function = nullptr;
};

State& GetState();

/// The calling thread's current device and last error.
struct ThreadState {
  int device = 0;
  Status last_error = kSuccess;
  CaptureMode capture_mode = SDK(StreamCaptureModeGlobal);
};

ThreadState& GetThreadState();

/// What the body of a function comes to: a status, or work to be done once the lock is released.
struct Outcome {
  Outcome(Status code)
      : status(code) {}  // NOLINT(google-explicit-constructor): bodies return either
  Outcome(Work deferred)
      : work(std::move(deferred)) {}  // NOLINT(google-explicit-constructor): as above

  Status status = kSuccess;
  Work work;
};

/// Runs a function of the SDK: counts the call, calls `body(state, fault)` with the lock held, does
/// the work, remembers the error. `fault` is what an injected fault wants reported, else success.
Status CallWithFault(const char* name, const std::function<Outcome(State&, Status)>& body);

/// As above; a fault comes instead of `body(state)`.
Status Call(const char* name, const std::function<Outcome(State&)>& body);

/// As above; a fault comes after `body(state)`, which destroys something.
Status CallDestroy(const char* name, const std::function<Outcome(State&)>& body);

/// Fails, and spoils the captures, when the calling thread is capturing in a mode that forbids
/// functions which may wait for the device.
Status CheckMayWait(State& state);

/// Returns whether [data, data + bytes) lies in one live allocation of a device.
bool IsDeviceRange(const State& state, const void* data, std::size_t bytes);

}  // namespace standin

struct SDK(Stream_st) {
  std::shared_ptr<standin::Queue> queue;
  unsigned flags;
  std::unique_ptr<standin::Capture> capture;
};

struct SDK(Event_st) {
  int device;
  unsigned flags;
  std::shared_ptr<standin::Point> point;  // null until the event is recorded
};

struct SDK(Graph_st) {
  std::shared_ptr<const std::vector<standin::Work>> work;
};

struct SDK(GraphExec_st) {
  std::shared_ptr<const std::vector<standin::Work>> work;
};

namespace standin {

/// Gives `work` to `stream`: records it while the stream is captured, queues it in a lazy run, else
/// has it done. Null is the default stream of the current device.
Outcome Submit(State& state, SDK(Stream_t) stream, Work work);

/// Returns whether `stream` exists; the default stream does.
bool IsStream(const State& state, SDK(Stream_t) stream);

/// Fails, and spoils the capture, when `stream` is captured, for what cannot be.
Status CheckNotCaptured(State& state, SDK(Stream_t) stream);

/// Returns the queue of a stream that exists.
const std::shared_ptr<Queue>& QueueOf(State& state, SDK(Stream_t) stream);

/// Does the first piece of work of `queue` without the lock. Returns whether there was one, and
/// keeps the first failure in `status`.
bool RunOne(Queue& queue, Status& status);

/// Does all work of the device, without the lock. Returns the first failure.
Status RunDevice(int device);

/// Does work until that before `point` is done, without the lock.
Status RunUntil(const Point& point);

}  // namespace standin

#endif  // STANDIN_SDK_SRC_STATE_H_
