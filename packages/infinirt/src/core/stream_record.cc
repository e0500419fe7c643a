#include "core/stream_record.h"

#include "core/thread_state.h"

namespace infini::rt {
namespace {

// Identifiers of default streams: a mark, the device type, the device index.
constexpr std::uint64_t kDefaultStreamMark = std::uint64_t{1} << 63;

std::string NotCaptured(Function function) {
  return std::string(FunctionName(function)) +
         " cannot be captured; the capture is spoilt: end it with StreamEndCapture, then make the "
         "call outside";
}

}  // namespace

HandleTable<StreamRecord>& StreamTable() {
  static HandleTable<StreamRecord>* const table = [] {
    auto* const fresh = new HandleTable<StreamRecord>;  // used until the process ends
    RegisterForkChild([] {
      // The child has only the thread that forked.
      StreamTable().ResetInForkedChild([](StreamRecord& record) {
        if (record.capture_owner.load() == ThreadToken()) return;
        record.capture.reset();
        record.capture_owner.store(0);
      });
    });
    return fresh;
  }();
  return *table;
}

StreamUse ResolveStream(Function function, const Backend& backend, Stream stream) {
  if (stream.id == 0) {
    const int device = CurrentDeviceIndex(backend);
    CheckDeviceIndex(function, backend, device);
    return {backend.default_stream(device), device, {}};
  }
  if ((stream.id & kDefaultStreamMark) != 0) {
    const auto type = static_cast<Device::Type>(stream.id >> 32 & 0xff);
    const int device = static_cast<int>(stream.id & 0xffffffffu);
    if (FindBackend(type) == nullptr || stream != DefaultStreamHandle(*FindBackend(type), device)) {
      Fail(ErrorCode::kInvalidArgument, function, backend,
           "the stream does not exist: it was destroyed or never created");
    }
    if (type != backend.type) {
      Fail(ErrorCode::kInvalidArgument, function, backend,
           "the stream is the default stream of " + Device(type, device).ToString() +
               "; select that backend (DeviceGuard) or pass one of its own streams");
    }
    CheckDeviceIndex(function, backend, device);
    return {backend.default_stream(device), device, {}};
  }
  auto record = StreamTable().Find(stream.id);
  if (!record) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the stream does not exist: it was destroyed or never created");
  }
  if (record->backend != &backend) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the stream belongs to " + Device(record->backend->type, record->device).ToString() +
             "; select that backend (DeviceGuard) or pass one of its own streams");
  }
  void* const native = record->native;
  const int device = record->device;
  return {native, device, std::move(record)};
}

Stream DefaultStreamHandle(const Backend& backend, int device) {
  return {kDefaultStreamMark | static_cast<std::uint64_t>(backend.type) << 32 |
          static_cast<std::uint32_t>(device)};
}

bool IsDefaultStream(Stream stream) {
  return stream.id == 0 || (stream.id & kDefaultStreamMark) != 0;
}

Capture* CaptureOf(Function function, const Backend& backend, const StreamUse& stream) {
  if (!stream.record) return nullptr;
  const std::uint64_t owner = stream.record->capture_owner.load(std::memory_order_acquire);
  if (owner == 0) return nullptr;
  if (owner != ThreadToken()) {
    Fail(ErrorCode::kInvalidState, function, backend, stream.device,
         "another thread is capturing the stream; use a stream of your own or wait for "
         "StreamEndCapture there");
  }
  Capture& capture = *stream.record->capture;
  if (!capture.spoilt_by.empty()) {
    Fail(ErrorCode::kInvalidState, function, backend, stream.device,
         "the capture of the stream was spoilt by " + capture.spoilt_by +
             "; end it with StreamEndCapture");
  }
  return &capture;
}

void RefuseDuringCaptureSlow(Function function, const Backend& backend) {
  bool refused = false;
  StreamTable().ForEach([&](StreamRecord& record) {
    if (record.capture_owner.load(std::memory_order_acquire) != ThreadToken()) return;
    if (record.capture->spoilt_by.empty()) record.capture->spoilt_by = FunctionName(function);
    refused = true;
  });
  if (refused) Fail(ErrorCode::kInvalidState, function, backend, NotCaptured(function));
  thread_state.captures = 0;  // the captures ended with their streams
}

void RefuseOnCapturedStream(Function function, const Backend& backend, const StreamUse& stream) {
  Capture* const capture = CaptureOf(function, backend, stream);
  if (capture == nullptr) return;
  capture->spoilt_by = FunctionName(function);
  Fail(ErrorCode::kInvalidState, function, backend, stream.device, NotCaptured(function));
}

void DiscardCapturesOfThread() noexcept {
  if (thread_state.captures == 0) return;
  StreamTable().ForEach([](StreamRecord& record) {
    if (record.capture_owner.load(std::memory_order_acquire) != ThreadToken()) return;
    const Backend& backend = *record.backend;
    try {
      if (!backend.runs_host_tasks()) backend.graph_destroy(backend.end_capture(record.native));
    } catch (const Error&) {
      // There was nothing sound to discard, and a thread that ends has nobody to tell.
    }
    record.capture.reset();
    record.capture_owner.store(0, std::memory_order_release);
  });
  thread_state.captures = 0;
}

void RaiseStreamError(const Backend& backend, void* native) {
  if (backend.take_error == nullptr) return;
  if (const std::exception_ptr error = backend.take_error(native)) std::rethrow_exception(error);
}

}  // namespace infini::rt
