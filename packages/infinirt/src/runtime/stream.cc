// Streams: creation, waiting, the current one.
#include <memory>
#include <string>
#include <utility>

#include "core/current_stream.h"
#include "core/stream_record.h"
#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt::runtime {
namespace {

/// Makes the record of a native stream that `make` gives. What was made is destroyed when there is
/// no room for its record.
template <typename Make>
Stream InsertStream(Function function, const Backend& backend, int device, Make make) {
  auto record = std::make_unique<StreamRecord>();
  record->backend = &backend;
  record->device = device;
  void* const native = record->native = make();
  std::uint64_t id = 0;
  try {
    id = StreamTable().Insert(std::move(record));
  } catch (...) {
    backend.stream_destroy(native);
    throw;
  }
  if (id == 0) {
    backend.stream_destroy(native);
    Fail(ErrorCode::kOutOfMemory, function, backend, device, "too many live streams; destroy some");
  }
  return {id};
}

}  // namespace

StreamPriorityRange GetStreamPriorityRange() {
  const Backend& backend = Enter(Function::kGetStreamPriorityRange);
  return backend.stream_priority_range != nullptr ? backend.stream_priority_range()
                                                  : StreamPriorityRange{};
}

Stream StreamCreate(int priority) {
  const Backend& backend = Enter(Function::kStreamCreate);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kStreamCreate, backend, device);
  const StreamPriorityRange range = backend.stream_priority_range != nullptr
                                        ? backend.stream_priority_range()
                                        : StreamPriorityRange{};
  if (priority > range.least || priority < range.greatest) {
    Fail(ErrorCode::kInvalidArgument, Function::kStreamCreate, backend, device,
         "priority " + std::to_string(priority) + " is out of range; the device accepts " +
             std::to_string(range.greatest) + " (first) to " + std::to_string(range.least) +
             " (last)");
  }
  return InsertStream(Function::kStreamCreate, backend, device,
                      [&] { return backend.stream_create(device, priority); });
}

void StreamDestroy(Stream stream) {
  const Backend& backend = Enter(Function::kStreamDestroy);
  if (IsDefaultStream(stream)) {
    Fail(ErrorCode::kInvalidArgument, Function::kStreamDestroy, backend,
         "the default stream cannot be destroyed");
  }
  {
    const StreamUse use = ResolveStream(Function::kStreamDestroy, backend, stream);
    if (use.record->capture_owner.load(std::memory_order_acquire) != 0) {
      Fail(ErrorCode::kInvalidState, Function::kStreamDestroy, backend, use.device,
           "the stream is being captured; end the capture with StreamEndCapture first");
    }
  }
  const std::unique_ptr<StreamRecord> record = StreamTable().Remove(stream.id);
  if (record == nullptr) {
    Fail(ErrorCode::kInvalidArgument, Function::kStreamDestroy, backend,
         "another thread destroyed the stream just now");
  }
  LeaveStream(backend, record->device, stream);
  backend.stream_destroy(record->native);
}

bool StreamQuery(Stream stream) {
  const Backend& backend = Enter(Function::kStreamQuery);
  const StreamUse use = ResolveStream(Function::kStreamQuery, backend, stream);
  RefuseOnCapturedStream(Function::kStreamQuery, backend, use);
  return backend.stream_query(use.native);
}

void StreamSynchronize(Stream stream) {
  const Backend& backend = Enter(Function::kStreamSynchronize);
  const StreamUse use = ResolveStream(Function::kStreamSynchronize, backend, stream);
  RefuseOnCapturedStream(Function::kStreamSynchronize, backend, use);
  backend.stream_synchronize(use.native);
  RaiseStreamError(backend, use.native);
}

Stream DefaultStream() {
  const Backend& backend = Enter(Function::kDefaultStream);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kDefaultStream, backend, device);
  return DefaultStreamHandle(backend, device);
}

Stream CurrentStream() {
  const Backend& backend = Enter(Function::kCurrentStream);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kCurrentStream, backend, device);
  return GetCurrentStream(backend, device);
}

void SetCurrentStream(Stream stream) {
  const Backend& backend = Enter(Function::kSetCurrentStream);
  const StreamUse use = ResolveStream(Function::kSetCurrentStream, backend, stream);
  PutCurrentStream(backend, use.device, stream);
}

Device StreamDevice(Stream stream) {
  const Backend& backend = Enter(Function::kStreamDevice);
  return Device(backend.type, ResolveStream(Function::kStreamDevice, backend, stream).device);
}

void* StreamNativeHandle(Stream stream) {
  const Backend& backend = Enter(Function::kStreamNativeHandle);
  const StreamUse use = ResolveStream(Function::kStreamNativeHandle, backend, stream);
  return backend.stream_native_handle != nullptr ? backend.stream_native_handle(use.native)
                                                 : nullptr;
}

Stream StreamFromNativeHandle(void* native) {
  const Backend& backend = Enter(Function::kStreamFromNativeHandle);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kStreamFromNativeHandle, backend, device);
  if (backend.stream_from_native == nullptr) {
    Fail(ErrorCode::kNotSupported, Function::kStreamFromNativeHandle, backend, device,
         "the backend has no native streams; create one with StreamCreate");
  }
  return InsertStream(Function::kStreamFromNativeHandle, backend, device,
                      [&] { return backend.stream_from_native(device, native); });
}

}  // namespace infini::rt::runtime
