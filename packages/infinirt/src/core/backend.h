// The interface between the runtime core and a backend: one table of functions.
//
// The core checks handles, indices, pointers, sizes, capture rules and fork before it calls a
// backend, so a backend only does the work and throws `Error` when the device runtime refuses.
// `index` is always valid, `bytes` never 0, pointers never null. A stream, event or graph is a
// `void*` that the backend made and the core passes back.
//
// There are two kinds of backends. Streams of a *host-task* backend (cpu, sim) run functions on the
// host: it gives `enqueue`, and the core expresses copies, fills and graphs as host tasks. A
// *native* backend (nvidia, ...) has a device runtime with its own copies and graphs and leaves
// `enqueue` null.
#ifndef INFINI_RT_CORE_BACKEND_H_
#define INFINI_RT_CORE_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>

#include "core/function.h"
#include "core/host_graph.h"
#include "infini/rt/runtime.h"

namespace infini::rt {

/// Where a copy or a fill takes place for a host task.
struct HostRange {
  void* address = nullptr;
  bool pageable = false;  ///< The stream must be drained before the call returns, since the caller
                          ///< may free the memory.
};

/// Bits of `Backend::capabilities`.
constexpr std::uint32_t CapabilityBits(std::initializer_list<Capability> capabilities) noexcept {
  std::uint32_t bits = 0;
  for (const Capability capability : capabilities) bits |= 1u << static_cast<int>(capability);
  return bits;
}

/// One backend. Entries are required unless their comment says "optional".
struct Backend {
  Device::Type type;
  std::uint32_t capabilities;
  /// Whether a child may go on to use the backend that its parent used before the fork.
  bool survives_fork;

  /// Optional: called when a runtime function of this backend starts; may throw to inject a fault.
  /// Default: nothing.
  void (*on_call)(Function function);

  // Devices.
  int (*device_count)();  ///< 0 without a driver.
  int (*get_device)();  ///< Optional, together with `set_device`. Default: the core keeps an index
                        ///< per thread.
  void (*set_device)(int index);  ///< Optional.
  DeviceProperties (*device_properties)(int index);
  MemoryInfo (*memory_info)(int index);
  void (*device_synchronize)(
      int index);  ///< Waits only; errors of host tasks are taken with `take_error`.

  // Memory of device `index`.
  void* (*malloc)(int index,
                  std::size_t bytes);   ///< Null or an `Error` when there is not enough memory.
  void (*free)(int index, void* data);  ///< After all work of the device.
  void* (*malloc_async)(int index, std::size_t bytes,
                        void* stream);  ///< Optional. Default: `malloc`.
  void (*free_async)(int index, void* data,
                     void* stream);  ///< Optional. Default: synchronise, `free`.
  void* (*malloc_host)(
      std::size_t bytes);         ///< Optional, with `free_host`. Default: ordinary aligned memory.
  void (*free_host)(void* data);  ///< Optional.

  // Copies and fills. A native backend gives all but the first. A host-task backend gives the
  // first, and `memcpy` and `memset` if it has a shorter way than a task on the default stream.
  /// Checks that [data, data + bytes) is device memory (or host memory, if `on_device` is false)
  /// and translates it.
  HostRange (*task_range)(Function function, const void* data, std::size_t bytes, bool on_device);
  void (*memcpy)(void* target, const void* source, std::size_t bytes, MemcpyKind kind);
  void (*memcpy_async)(void* target, const void* source, std::size_t bytes, MemcpyKind kind,
                       void* stream);
  void (*memset)(void* data, int value, std::size_t bytes);
  void (*memset_async)(void* data, int value, std::size_t bytes, void* stream);

  // Streams.
  void* (*default_stream)(int index);
  StreamPriorityRange (*stream_priority_range)();  ///< Optional. Default: only priority 0.
  void* (*stream_create)(int index, int priority);
  void (*stream_destroy)(void* stream);  ///< Queued work is done first. Must not throw.
  bool (*stream_query)(void* stream);
  void (*stream_synchronize)(void* stream);  ///< Waits only.
  /// Optional: takes the first exception of a host task on the stream, once. Default: there is
  /// none.
  std::exception_ptr (*take_error)(void* stream);
  void* (*stream_native_handle)(void* stream);           ///< Optional. Default: null.
  void* (*stream_from_native)(int index, void* native);  ///< Optional. Default: not supported.

  // Events. The core has checked that an event is recorded where that matters.
  void* (*event_create)(int index, EventOptions options);
  void (*event_destroy)(void* event);  ///< Must not throw.
  void (*event_record)(void* event, void* stream);
  bool (*event_query)(void* event);
  void (*event_synchronize)(void* event);
  void (*stream_wait_event)(void* stream, void* event);
  float (*event_elapsed_time)(void* start, void* end);

  // Host tasks of a host-task backend: runs or queues `function` with a copy of the arguments.
  void (*enqueue)(void* stream, HostFunction function, const void* arguments, std::size_t size);
  /// Runs or queues a whole recording.
  void (*enqueue_graph)(void* stream, std::shared_ptr<const HostGraph> graph);

  // Host tasks and graphs of a native backend.
  /// On a stream that is being captured, the backend keeps the arguments with the recording.
  void (*launch_host)(void* stream, HostFunction function, const void* arguments, std::size_t size);
  void (*begin_capture)(void* stream);
  void* (*end_capture)(void* stream);  ///< Returns the recorded graph.
  void* (*graph_instantiate)(void* graph);
  void (*graph_launch)(void* exec, void* stream);
  std::size_t (*graph_task_count)(void* graph);
  void (*graph_destroy)(void* graph);      ///< Must not throw.
  void (*graph_exec_destroy)(void* exec);  ///< Must not throw.

  bool has(Capability capability) const noexcept {
    return (capabilities >> static_cast<int>(capability) & 1u) != 0;
  }
  bool runs_host_tasks() const noexcept { return enqueue != nullptr; }
};

/// Returns the backends of this build, in the order of `Device::Type`.
std::span<const Backend* const> CompiledBackendTables() noexcept;

/// Returns the backend of `type`, or null when this build lacks it.
const Backend* FindBackend(Device::Type type) noexcept;

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_BACKEND_H_
