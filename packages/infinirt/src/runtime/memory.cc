// Memory: allocation, copies, fills.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "core/allocations.h"
#include "core/check_bytes.h"
#include "core/host_tasks.h"
#include "core/stream_record.h"
#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt::runtime {
namespace {

constexpr std::size_t kHostAlignment = 64;

int CurrentDevice(Function function, const Backend& backend) {
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(function, backend, device);
  return device;
}

bool TargetOnDevice(MemcpyKind kind) {
  return kind == MemcpyKind::kHostToDevice || kind == MemcpyKind::kDeviceToDevice;
}

bool SourceOnDevice(MemcpyKind kind) {
  return kind == MemcpyKind::kDeviceToHost || kind == MemcpyKind::kDeviceToDevice;
}

/// Returns whether there is anything to copy. Throws on bad arguments.
bool CheckCopy(Function function, const Backend& backend, const void* target, const void* source,
               std::size_t bytes, MemcpyKind kind) {
  if (static_cast<int>(kind) > static_cast<int>(MemcpyKind::kDeviceToDevice)) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "value " + std::to_string(static_cast<int>(kind)) + " is not a kind of copy");
  }
  CheckBytes(function, backend, "target", target, bytes);
  CheckBytes(function, backend, "source", source, bytes);
  return bytes != 0;
}

/// Returns whether there is anything to fill. Throws on bad arguments.
bool CheckFill(Function function, const Backend& backend, const void* data, std::size_t bytes) {
  CheckBytes(function, backend, "data", data, bytes);
  return bytes != 0;
}

/// Runs a checked copy through the host-task entries. Returns whether the caller has to wait for
/// it.
bool EnqueueCopy(Function function, const Backend& backend, StreamUse stream, Capture* capture,
                 void* target, const void* source, std::size_t bytes, MemcpyKind kind) {
  const HostRange to = backend.task_range(function, target, bytes, TargetOnDevice(kind));
  const HostRange from = backend.task_range(function, source, bytes, SourceOnDevice(kind));
  const CopyTask task{to.address, from.address, bytes};
  EnqueueHostTask(backend, std::move(stream), capture, &CopyTask::Run, &task, sizeof task);
  return to.pageable || from.pageable;
}

std::string AddressText(const void* data) {
  std::ostringstream text;
  text << data;
  return text.str();
}

/// Raises the stored error of a host task on the current device's default stream.
void RaiseDefaultStreamError(const Backend& backend) {
  if (backend.take_error == nullptr) return;
  RaiseStreamError(backend, backend.default_stream(CurrentDeviceIndex(backend)));
}

/// Registers a fresh allocation, or gives it back when there is no memory for the record.
void* Register(const Backend& backend, void* data, const Allocation& allocation,
               void (*release)(const Allocation&, void*)) {
  try {
    Allocations::Instance().Insert(data, allocation);
  } catch (const std::bad_alloc&) {
    release(allocation, data);
    Fail(ErrorCode::kOutOfMemory, allocation.on_host ? Function::kMallocHost : Function::kMalloc,
         backend, "no host memory for the record of an allocation");
  }
  return data;
}

void* CheckAllocated(Function function, const Backend& backend, int device, void* data,
                     std::size_t bytes) {
  if (data == nullptr) {
    Fail(ErrorCode::kOutOfMemory, function, backend, device,
         "could not allocate " + std::to_string(bytes) + " bytes");
  }
  return data;
}

/// Takes the allocation at `data` out of the table and calls `release(allocation)`; puts it back
/// when that throws. Throws `Error` when there is no such allocation.
template <typename Release>
void ReleaseAllocation(Function function, const Backend& backend, const void* data, bool on_host,
                       Release release) {
  Allocations::Taken taken = Allocations::Instance().Take(data, backend, on_host);
  if (taken.empty()) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "address " + AddressText(data) + " is not a live allocation of " +
             (on_host ? "MallocHost" : "Malloc or MallocAsync") +
             " of this backend: it was freed before, came from elsewhere or points into an "
             "allocation");
  }
  try {
    release(taken.mapped());
  } catch (...) {
    Allocations::Instance().PutBack(std::move(taken));
    throw;
  }
}

}  // namespace

void* Malloc(std::size_t bytes) {
  const Backend& backend = Enter(Function::kMalloc);
  RefuseDuringCapture(Function::kMalloc, backend);
  CheckSize(Function::kMalloc, backend, bytes);
  const int device = CurrentDevice(Function::kMalloc, backend);
  if (bytes == 0) return nullptr;
  void* const data =
      CheckAllocated(Function::kMalloc, backend, device, backend.malloc(device, bytes), bytes);
  return Register(backend, data, {&backend, device, bytes},
                  [](const Allocation& allocation, void* fresh) {
                    allocation.backend->free(allocation.device, fresh);
                  });
}

void Free(void* data) {
  const Backend& backend = Enter(Function::kFree);
  RefuseDuringCapture(Function::kFree, backend);
  if (data == nullptr) return;
  ReleaseAllocation(Function::kFree, backend, data, false, [&](const Allocation& allocation) {
    // Memory of a pool is free for others at once, whatever the device still does with it.
    if (allocation.stream_ordered) backend.device_synchronize(allocation.device);
    backend.free(allocation.device, data);
  });
}

void* MallocAsync(std::size_t bytes, Stream stream) {
  const Backend& backend = Enter(Function::kMallocAsync);
  RefuseDuringCapture(Function::kMallocAsync, backend);
  CheckSize(Function::kMallocAsync, backend, bytes);
  const StreamUse use = ResolveStream(Function::kMallocAsync, backend, stream);
  if (bytes == 0) return nullptr;
  const bool ordered = backend.malloc_async != nullptr;
  void* const data = CheckAllocated(Function::kMallocAsync, backend, use.device,
                                    ordered ? backend.malloc_async(use.device, bytes, use.native)
                                            : backend.malloc(use.device, bytes),
                                    bytes);
  return Register(backend, data, {&backend, use.device, bytes, false, ordered},
                  [](const Allocation& allocation, void* fresh) {
                    allocation.backend->free(allocation.device, fresh);
                  });
}

void FreeAsync(void* data, Stream stream) {
  const Backend& backend = Enter(Function::kFreeAsync);
  RefuseDuringCapture(Function::kFreeAsync, backend);
  const StreamUse use = ResolveStream(Function::kFreeAsync, backend, stream);
  if (data == nullptr) return;
  ReleaseAllocation(Function::kFreeAsync, backend, data, false, [&](const Allocation& allocation) {
    if (backend.free_async != nullptr) {
      backend.free_async(allocation.device, data, use.native);
    } else {
      backend.stream_synchronize(use.native);
      backend.free(allocation.device, data);
    }
  });
}

void* MallocHost(std::size_t bytes) {
  const Backend& backend = Enter(Function::kMallocHost);
  RefuseDuringCapture(Function::kMallocHost, backend);
  CheckSize(Function::kMallocHost, backend, bytes);
  const int device = CurrentDevice(Function::kMallocHost, backend);
  if (bytes == 0) return nullptr;
  const std::size_t rounded = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  void* const data =
      CheckAllocated(Function::kMallocHost, backend, device,
                     backend.malloc_host != nullptr ? backend.malloc_host(bytes)
                                                    : std::aligned_alloc(kHostAlignment, rounded),
                     bytes);
  return Register(backend, data, {&backend, device, bytes, true, false},
                  [](const Allocation& allocation, void* fresh) {
                    allocation.backend->free_host != nullptr ? allocation.backend->free_host(fresh)
                                                             : std::free(fresh);
                  });
}

void FreeHost(void* data) {
  const Backend& backend = Enter(Function::kFreeHost);
  RefuseDuringCapture(Function::kFreeHost, backend);
  if (data == nullptr) return;
  ReleaseAllocation(Function::kFreeHost, backend, data, true, [&](const Allocation&) {
    backend.free_host != nullptr ? backend.free_host(data) : std::free(data);
  });
}

void Memcpy(void* target, const void* source, std::size_t bytes, MemcpyKind kind) {
  const Backend& backend = Enter(Function::kMemcpy);
  RefuseDuringCapture(Function::kMemcpy, backend);
  if (!CheckCopy(Function::kMemcpy, backend, target, source, bytes, kind)) return;
  if (backend.memcpy != nullptr) {
    backend.memcpy(target, source, bytes, kind);
    RaiseDefaultStreamError(backend);
    return;
  }
  void* const native = backend.default_stream(CurrentDevice(Function::kMemcpy, backend));
  EnqueueCopy(Function::kMemcpy, backend, {native, 0, {}}, nullptr, target, source, bytes, kind);
  backend.stream_synchronize(native);
  RaiseStreamError(backend, native);
}

void MemcpyAsync(void* target, const void* source, std::size_t bytes, MemcpyKind kind,
                 Stream stream) {
  const Backend& backend = Enter(Function::kMemcpyAsync);
  StreamUse use = ResolveStream(Function::kMemcpyAsync, backend, stream);
  Capture* const capture = CaptureOf(Function::kMemcpyAsync, backend, use);
  if (!CheckCopy(Function::kMemcpyAsync, backend, target, source, bytes, kind)) return;
  void* const native = use.native;
  if (!backend.runs_host_tasks()) {
    backend.memcpy_async(target, source, bytes, kind, native);
    return;
  }
  if (capture != nullptr || !backend.has(Capability::kAsyncStreams)) {
    EnqueueCopy(Function::kMemcpyAsync, backend, std::move(use), capture, target, source, bytes,
                kind);
    return;
  }
  const StreamUse held = std::move(use);  // the stream must outlive the wait
  if (EnqueueCopy(Function::kMemcpyAsync, backend, {native, held.device, {}}, nullptr, target,
                  source, bytes, kind)) {
    backend.stream_synchronize(native);
  }
}

void Memset(void* data, int value, std::size_t bytes) {
  const Backend& backend = Enter(Function::kMemset);
  RefuseDuringCapture(Function::kMemset, backend);
  if (!CheckFill(Function::kMemset, backend, data, bytes)) return;
  if (backend.memset != nullptr) {
    backend.memset(data, value, bytes);
    RaiseDefaultStreamError(backend);
    return;
  }
  void* const native = backend.default_stream(CurrentDevice(Function::kMemset, backend));
  const FillTask task{backend.task_range(Function::kMemset, data, bytes, true).address, value,
                      bytes};
  EnqueueHostTask(backend, {native, 0, {}}, nullptr, &FillTask::Run, &task, sizeof task);
  backend.stream_synchronize(native);
  RaiseStreamError(backend, native);
}

void MemsetAsync(void* data, int value, std::size_t bytes, Stream stream) {
  const Backend& backend = Enter(Function::kMemsetAsync);
  StreamUse use = ResolveStream(Function::kMemsetAsync, backend, stream);
  Capture* const capture = CaptureOf(Function::kMemsetAsync, backend, use);
  if (!CheckFill(Function::kMemsetAsync, backend, data, bytes)) return;
  if (!backend.runs_host_tasks()) {
    backend.memset_async(data, value, bytes, use.native);
    return;
  }
  const FillTask task{backend.task_range(Function::kMemsetAsync, data, bytes, true).address, value,
                      bytes};
  EnqueueHostTask(backend, std::move(use), capture, &FillTask::Run, &task, sizeof task);
}

void* TaskPointer(Device device, const void* data, std::size_t bytes) {
  const Backend* const backend = FindBackend(device.type());
  if (backend == nullptr || !backend->runs_host_tasks()) {
    throw Error(ErrorCode::kNotSupported, "TaskPointer", device.ToString(),
                "host tasks cannot reach the memory of this device");
  }
  CheckUsable(Function::kTaskPointer, *backend);
  if (backend->on_call != nullptr) backend->on_call(Function::kTaskPointer);
  CheckDeviceIndex(Function::kTaskPointer, *backend, device.index());
  CheckBytes(Function::kTaskPointer, *backend, "data", data, bytes);
  if (bytes == 0) return const_cast<void*>(data);
  return backend->task_range(Function::kTaskPointer, data, bytes, true).address;
}

}  // namespace infini::rt::runtime
