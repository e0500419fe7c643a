// Device runtime: backend selection, devices, memory, streams, events, host tasks and graphs.
//
// Every function works on the backend that the calling thread has selected, throws
// `infini::rt::Error` on bad input before anything is changed, and may be called from any thread.
// Handles are small values; using one after it was destroyed, or on another backend, is an error
// and never undefined behaviour. When the host has no memory for the runtime's own records,
// functions throw std::bad_alloc and leave everything as it was.
#ifndef INFINI_RT_RUNTIME_H_
#define INFINI_RT_RUNTIME_H_

#if __cplusplus < 202002L
#error "InfiniRT needs C++20: compile with -std=c++20, or target_compile_features(... cxx_std_20)."
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "infini/rt/abi.h"
#include "infini/rt/device.h"
#include "infini/rt/error.h"

namespace infini::rt {

/// An ordered queue of work on one device. The default-constructed value names the default stream
/// of the current device, which neither waits for other streams nor makes them wait.
struct Stream {
  /// Number of the handle; 0 is the default-constructed value.
  std::uint64_t id = 0;
  /// Whether both name the same.
  friend constexpr bool operator==(const Stream&, const Stream&) noexcept = default;
};

/// A point in the work of a stream. The default-constructed value names no event.
struct Event {
  /// Number of the handle; 0 is the default-constructed value.
  std::uint64_t id = 0;
  /// Whether both name the same.
  friend constexpr bool operator==(const Event&, const Event&) noexcept = default;
};

/// Recorded work that can be instantiated. The default-constructed value names no graph.
struct Graph {
  /// Number of the handle; 0 is the default-constructed value.
  std::uint64_t id = 0;
  /// Whether both name the same.
  friend constexpr bool operator==(const Graph&, const Graph&) noexcept = default;
};

/// A graph that is ready to launch. The default-constructed value names none.
struct GraphExec {
  /// Number of the handle; 0 is the default-constructed value.
  std::uint64_t id = 0;
  /// Whether both name the same.
  friend constexpr bool operator==(const GraphExec&, const GraphExec&) noexcept = default;
};

/// What a backend can do beyond the required functions; ask with `runtime::HasCapability`.
enum class Capability : std::uint8_t {
  kAsyncMemcpy = 0,  ///< Copies from and to pinned host memory return before they are done.
  kPinnedHost = 1,   ///< `MallocHost` gives memory that the device reaches directly.
  kAsyncMalloc =
      2,  ///< `MallocAsync` and `FreeAsync` are ordered on the stream and do not synchronise.
  kEventTiming = 3,     ///< `EventElapsedTime` works for events created with timing.
  kBlockingEvent = 4,   ///< `EventOptions::blocking` is accepted.
  kIpcEvent = 5,        ///< `EventOptions::interprocess` is accepted.
  kStreamPriority = 6,  ///< Streams of different priorities are scheduled differently.
  kGraphCapture = 7,    ///< Streams can be captured into graphs.
  kHostAccess = 8,      ///< The host may read and write device memory.
  kAsyncStreams = 9,    ///< Work on a stream runs while the host goes on.
};

/// Number of values of `Capability`.
inline constexpr int kCapabilityCount = 10;

/// Returns the name of `capability`, for example "async_memcpy"; "invalid" outside the enumeration.
INFINI_RT_EXPORT const char* CapabilityName(Capability capability) noexcept;

/// Direction of a copy.
enum class MemcpyKind : std::uint8_t {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3
};

/// What is known about a device.
struct DeviceProperties {
  std::string name;              ///< As the driver or the operating system calls it.
  std::size_t total_memory = 0;  ///< Bytes.
  int multiprocessor_count = 0;  ///< Multiprocessors of an accelerator, usable cores of the CPU.
  int capability_major = 0;      ///< Compute capability; 0 where the family has none.
  int capability_minor = 0;      ///< Its second number.
};

/// Bytes of device memory.
struct MemoryInfo {
  std::size_t free = 0;   ///< What a new allocation could get.
  std::size_t total = 0;  ///< What the device has.
};

/// The range of stream priorities; lower numbers come first. Both are 0 without `kStreamPriority`.
struct StreamPriorityRange {
  int least = 0;     ///< Comes last.
  int greatest = 0;  ///< Comes first.
};

/// How an event is created.
struct EventOptions {
  bool timing = true;         ///< `EventElapsedTime` needs it.
  bool blocking = false;      ///< Needs `kBlockingEvent`.
  bool interprocess = false;  ///< Needs `kIpcEvent`, and `timing` to be false.
};

/// A function that runs on the host in stream order. It gets a copy of its arguments and may throw.
using HostFunction = void (*)(const void* arguments);

namespace runtime {

// --- Backend selection, per thread ---

/// Returns the backends in this build, in the order of `Device::Type`.
INFINI_RT_EXPORT std::vector<Device::Type> CompiledBackends();

/// Selects the backend of the calling thread. Throws `Error` (not supported) that lists the
/// compiled ones.
INFINI_RT_EXPORT void SelectBackend(Device::Type type);

/// Returns the calling thread's backend. Until it selects one: the first compiled accelerator that
/// has a device, else cpu, else the compiled accelerator.
INFINI_RT_EXPORT Device::Type SelectedBackend();

/// Returns a number that changes whenever the calling thread's selection changes, so that a caller
/// can tell by one comparison that what it bound is still bound. Starts at 1 in each thread.
INFINI_RT_EXPORT std::uint64_t SelectionGeneration() noexcept;

/// Returns whether the selected backend has `capability`.
INFINI_RT_EXPORT bool HasCapability(Capability capability);

// --- Devices ---

/// Returns how many devices the selected backend has; 0 without a driver.
INFINI_RT_EXPORT int DeviceCount();

/// Returns the index of the calling thread's current device; 0 in a new thread.
INFINI_RT_EXPORT int GetDevice();

/// Makes device `index` current in the calling thread.
INFINI_RT_EXPORT void SetDevice(int index);

/// Returns the properties of device `index`.
INFINI_RT_EXPORT DeviceProperties GetDeviceProperties(int index);

/// Waits for all work on the current device, then raises the stored error of one of its streams.
/// Those of other streams stay until the next synchronisation.
INFINI_RT_EXPORT void DeviceSynchronize();

/// Returns free and total memory of the current device.
INFINI_RT_EXPORT MemoryInfo GetMemoryInfo();

// --- Memory ---

/// Allocates `bytes` on the current device, aligned to at least 64 bytes. Zero bytes give null.
INFINI_RT_EXPORT void* Malloc(std::size_t bytes);

/// Frees memory of `Malloc` or `MallocAsync` after all work on its device is done. Null does
/// nothing; any other pointer that is not an allocation of the selected backend is an error.
INFINI_RT_EXPORT void Free(void* data);

/// Allocates `bytes` that work on `stream` may use from now on. Zero bytes give null.
INFINI_RT_EXPORT void* MallocAsync(std::size_t bytes, Stream stream);

/// Frees memory of `Malloc` or `MallocAsync` once the work queued on `stream` so far is done.
INFINI_RT_EXPORT void FreeAsync(void* data, Stream stream);

/// Allocates `bytes` of host memory, pinned where the backend has `kPinnedHost`. Zero bytes give
/// null.
INFINI_RT_EXPORT void* MallocHost(std::size_t bytes);

/// Frees memory of `MallocHost`.
INFINI_RT_EXPORT void FreeHost(void* data);

/// Copies `bytes` from `source` to `target` after the work of the device's default stream, and
/// waits. Overlapping ranges behave like memmove on cpu and sim and are undefined on other
/// backends.
INFINI_RT_EXPORT void Memcpy(void* target, const void* source, std::size_t bytes, MemcpyKind kind);

/// Queues the copy on `stream`. Both ranges must stay valid until it is done; host memory that was
/// not allocated with `MallocHost` may make the call wait. Can be captured.
INFINI_RT_EXPORT void MemcpyAsync(void* target, const void* source, std::size_t bytes,
                                  MemcpyKind kind, Stream stream);

/// Sets `bytes` bytes of device memory to the low 8 bits of `value`, after the default stream's
/// work, and waits.
INFINI_RT_EXPORT void Memset(void* data, int value, std::size_t bytes);

/// Queues the fill on `stream`. Can be captured.
INFINI_RT_EXPORT void MemsetAsync(void* data, int value, std::size_t bytes, Stream stream);

/// Returns the address by which host tasks on `device` reach the device memory [`data`, `data` +
/// `bytes`): `data` itself on cpu, the private alias on sim. Throws `Error` when the range is not
/// inside one live allocation on sim, or (not supported) when host tasks cannot reach the device's
/// memory.
INFINI_RT_EXPORT void* TaskPointer(Device device, const void* data, std::size_t bytes);

// --- Streams ---

/// Returns the priorities that `StreamCreate` accepts.
INFINI_RT_EXPORT StreamPriorityRange GetStreamPriorityRange();

/// Creates a stream on the current device.
INFINI_RT_EXPORT Stream StreamCreate(int priority = 0);

/// Destroys `stream`; its queued work is done first. An error of its host tasks that nobody has
/// raised goes to the device's default stream. The default stream cannot be destroyed.
INFINI_RT_EXPORT void StreamDestroy(Stream stream);

/// Returns whether all work queued on `stream` is done.
INFINI_RT_EXPORT bool StreamQuery(Stream stream);

/// Waits for the work queued on `stream`, then raises the oldest error of a host task there, once.
INFINI_RT_EXPORT void StreamSynchronize(Stream stream);

/// Makes later work on `stream` wait for the last record of `event`. An event that was never
/// recorded is no wait.
INFINI_RT_EXPORT void StreamWaitEvent(Stream stream, Event event);

/// Returns the default stream of the current device as a handle that stays valid when another
/// device becomes current.
INFINI_RT_EXPORT Stream DefaultStream();

/// Returns the calling thread's current stream on the current device; the default stream until it
/// sets another.
INFINI_RT_EXPORT Stream CurrentStream();

/// Makes `stream` the calling thread's current stream on the stream's device. The current device
/// does not change.
INFINI_RT_EXPORT void SetCurrentStream(Stream stream);

/// Returns the device of `stream`.
INFINI_RT_EXPORT Device StreamDevice(Stream stream);

/// Returns the backend's own handle (`cudaStream_t`, ...) of `stream`; null where the backend has
/// none.
INFINI_RT_EXPORT void* StreamNativeHandle(Stream stream);

/// Wraps a stream that somebody else owns (`cudaStream_t`, ...) on the current device.
/// `StreamDestroy` forgets it and leaves the native stream alone. Throws `Error` (not supported)
/// where the backend has no native streams.
INFINI_RT_EXPORT Stream StreamFromNativeHandle(void* native);

// --- Events ---

/// Creates an event on the current device.
INFINI_RT_EXPORT Event EventCreate(EventOptions options = {});

/// Destroys `event`. Waits on it that are already queued stay in force.
INFINI_RT_EXPORT void EventDestroy(Event event);

/// Marks the work queued on `stream` so far. A later record replaces an earlier one.
INFINI_RT_EXPORT void EventRecord(Event event, Stream stream);

/// Returns whether the work of the last record is done; true before the first record.
INFINI_RT_EXPORT bool EventQuery(Event event);

/// Waits until the work of the last record is done.
INFINI_RT_EXPORT void EventSynchronize(Event event);

/// Returns the milliseconds from `start` to `end`, negative when they happened in the other order.
/// Both must be recorded, done, on one device, and created with timing.
INFINI_RT_EXPORT float EventElapsedTime(Event start, Event end);

// --- Host tasks ---

/// Queues `function` on `stream` with a copy of `size` bytes at `arguments`. On cpu it runs before
/// the call returns and its exception leaves the call; elsewhere the stream keeps the first
/// exception and raises it at its next synchronisation. Can be captured.
INFINI_RT_EXPORT void LaunchHost(Stream stream, HostFunction function, const void* arguments,
                                 std::size_t size);

// --- Graphs ---

/// Starts to record the work that the calling thread queues on `stream` instead of running it. The
/// default stream cannot be captured. Until `StreamEndCapture`, the calling thread cannot allocate,
/// free, copy or fill synchronously, synchronise or query the device or the stream, or use events
/// on the stream: such a call throws `Error` (invalid state), queues nothing and spoils the
/// capture.
INFINI_RT_EXPORT void StreamBeginCapture(Stream stream);

/// Ends the capture and returns what was recorded. Throws `Error` when the capture was spoilt, and
/// names the call that spoilt it; the stream can be used again either way. A
/// thread that ends discards its captures.
INFINI_RT_EXPORT Graph StreamEndCapture(Stream stream);

/// Returns whether `stream` is being captured.
INFINI_RT_EXPORT bool StreamIsCapturing(Stream stream);

/// Makes `graph` ready to launch. The result does not depend on `graph` any more.
INFINI_RT_EXPORT GraphExec GraphInstantiate(Graph graph);

/// Queues all recorded work on `stream`, which must belong to the device where it was captured. On
/// cpu and sim a task that throws ends the launch; on other backends the rest still runs. Cannot be
/// captured.
INFINI_RT_EXPORT void GraphLaunch(GraphExec graph, Stream stream);

/// Returns how many operations `graph` holds.
INFINI_RT_EXPORT std::size_t GraphTaskCount(Graph graph);

/// Destroys `graph`.
INFINI_RT_EXPORT void GraphDestroy(Graph graph);

/// Destroys `graph`; launches that are queued finish first or keep what they need.
INFINI_RT_EXPORT void GraphExecDestroy(GraphExec graph);

}  // namespace runtime
}  // namespace infini::rt

#endif  // INFINI_RT_RUNTIME_H_
