// Events: creation, recording, waiting, timing.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "core/handle_table.h"
#include "core/stream_record.h"
#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt::runtime {
namespace {

struct EventState {
  const Backend* backend;
  int device;
  void* native;
  EventOptions options;
  std::atomic<bool> recorded{false};
};

HandleTable<EventState>& EventTable() {
  static HandleTable<EventState>* const table = [] {
    auto* const fresh = new HandleTable<EventState>;  // used until the process ends
    RegisterForkChild([] { EventTable().ResetInForkedChild([](EventState&) {}); });
    return fresh;
  }();
  return *table;
}

using EventUse = HandleTable<EventState>::Use;

EventUse ResolveEvent(Function function, const Backend& backend, Event event) {
  EventUse use = EventTable().Find(event.id);
  if (!use) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the event does not exist: it was destroyed or never created");
  }
  if (use->backend != &backend) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the event belongs to " + Device(use->backend->type, use->device).ToString() +
             "; select that backend (DeviceGuard) or pass one of its own events");
  }
  return use;
}

void CheckOption(const Backend& backend, bool wanted, Capability capability, const char* option) {
  if (wanted && !backend.has(capability)) {
    Fail(ErrorCode::kNotSupported, Function::kEventCreate, backend,
         std::string("events with ") + option + " = true need the capability " +
             CapabilityName(capability) + ", which this backend lacks");
  }
}

void CheckTimed(const Backend& backend, const EventState& event, const char* name) {
  if (!event.options.timing) {
    Fail(ErrorCode::kInvalidArgument, Function::kEventElapsedTime, backend, event.device,
         std::string(name) + " was created without timing; create both events with timing = true");
  }
  if (!event.recorded.load(std::memory_order_acquire)) {
    Fail(ErrorCode::kInvalidState, Function::kEventElapsedTime, backend, event.device,
         std::string(name) + " was never recorded; call EventRecord first");
  }
  if (!backend.event_query(event.native)) {
    Fail(ErrorCode::kInvalidState, Function::kEventElapsedTime, backend, event.device,
         std::string(name) + " is recorded but not done yet; call EventSynchronize first");
  }
}

}  // namespace

Event EventCreate(EventOptions options) {
  const Backend& backend = Enter(Function::kEventCreate);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kEventCreate, backend, device);
  CheckOption(backend, options.blocking, Capability::kBlockingEvent, "blocking");
  CheckOption(backend, options.interprocess, Capability::kIpcEvent, "interprocess");
  if (options.interprocess && options.timing) {
    Fail(ErrorCode::kInvalidArgument, Function::kEventCreate, backend, device,
         "interprocess events cannot be timed; set timing = false");
  }
  auto record = std::make_unique<EventState>();
  record->backend = &backend;
  record->device = device;
  record->options = options;
  void* const native = record->native = backend.event_create(device, options);
  std::uint64_t id = 0;
  try {
    id = EventTable().Insert(std::move(record));
  } catch (...) {
    backend.event_destroy(native);
    throw;
  }
  if (id == 0) {
    backend.event_destroy(native);
    Fail(ErrorCode::kOutOfMemory, Function::kEventCreate, backend, device,
         "too many live events; destroy some");
  }
  return {id};
}

void EventDestroy(Event event) {
  const Backend& backend = Enter(Function::kEventDestroy);
  ResolveEvent(Function::kEventDestroy, backend, event);
  const std::unique_ptr<EventState> record = EventTable().Remove(event.id);
  if (record == nullptr) {
    Fail(ErrorCode::kInvalidArgument, Function::kEventDestroy, backend,
         "another thread destroyed the event just now");
  }
  backend.event_destroy(record->native);
}

void EventRecord(Event event, Stream stream) {
  const Backend& backend = Enter(Function::kEventRecord);
  const EventUse use = ResolveEvent(Function::kEventRecord, backend, event);
  const StreamUse on = ResolveStream(Function::kEventRecord, backend, stream);
  if (use->device != on.device) {
    Fail(ErrorCode::kInvalidArgument, Function::kEventRecord, backend, on.device,
         "the event was created on device " + std::to_string(use->device) +
             " but the stream is on device " + std::to_string(on.device) +
             "; create the event on the stream's device");
  }
  RefuseOnCapturedStream(Function::kEventRecord, backend, on);
  backend.event_record(use->native, on.native);
  use->recorded.store(true, std::memory_order_release);
}

bool EventQuery(Event event) {
  const Backend& backend = Enter(Function::kEventQuery);
  const EventUse use = ResolveEvent(Function::kEventQuery, backend, event);
  RefuseDuringCapture(Function::kEventQuery, backend);
  return !use->recorded.load(std::memory_order_acquire) || backend.event_query(use->native);
}

void EventSynchronize(Event event) {
  const Backend& backend = Enter(Function::kEventSynchronize);
  const EventUse use = ResolveEvent(Function::kEventSynchronize, backend, event);
  RefuseDuringCapture(Function::kEventSynchronize, backend);
  if (use->recorded.load(std::memory_order_acquire)) backend.event_synchronize(use->native);
}

void StreamWaitEvent(Stream stream, Event event) {
  const Backend& backend = Enter(Function::kStreamWaitEvent);
  const EventUse use = ResolveEvent(Function::kStreamWaitEvent, backend, event);
  const StreamUse on = ResolveStream(Function::kStreamWaitEvent, backend, stream);
  RefuseOnCapturedStream(Function::kStreamWaitEvent, backend, on);
  if (use->recorded.load(std::memory_order_acquire))
    backend.stream_wait_event(on.native, use->native);
}

float EventElapsedTime(Event start, Event end) {
  const Backend& backend = Enter(Function::kEventElapsedTime);
  const EventUse first = ResolveEvent(Function::kEventElapsedTime, backend, start);
  const EventUse last = ResolveEvent(Function::kEventElapsedTime, backend, end);
  if (first->device != last->device) {
    Fail(ErrorCode::kInvalidArgument, Function::kEventElapsedTime, backend, first->device,
         "start is on device " + std::to_string(first->device) + " but end is on device " +
             std::to_string(last->device) + "; times of different devices cannot be compared");
  }
  CheckTimed(backend, *first, "start");
  CheckTimed(backend, *last, "end");
  return backend.event_elapsed_time(first->native, last->native);
}

}  // namespace infini::rt::runtime
