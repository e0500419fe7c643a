#include "runtime/event.h"

#include <c10/util/Exception.h>
#include <infini/rt/guard.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/error.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

static_assert(sizeof(void*) == sizeof(std::uint64_t));

rt::Event ToEvent(void* event) { return {reinterpret_cast<std::uintptr_t>(event)}; }

rt::Event NewEvent(c10::DeviceIndex device, bool timing) {
  BoundThread();
  return WithTorchErrors([&] {
    const rt::DeviceGuard guard(RuntimeDevice(CheckedDevice(device)));
    rt::EventOptions options;
    options.timing = timing && GetBackend().Has(rt::Capability::kEventTiming);
    return rt::runtime::EventCreate(options);
  });
}

struct EventPool {
  std::mutex mutex;
  std::vector<rt::Event> free;
};

EventPool& EventsOf(c10::DeviceIndex device) {
  static auto* const pools = new std::array<EventPool, kMaxDevices>;
  return (*pools)[static_cast<std::size_t>(device)];
}

}  // namespace

void* CreateEvent(c10::DeviceIndex device, bool timing) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(NewEvent(device, timing).id));
}

void DestroyEvent(void* event) noexcept {
  if (event == nullptr || InBadFork()) return;
  try {
    BoundThread();
    rt::runtime::EventDestroy(ToEvent(event));
  } catch (const std::exception& error) {
    TORCH_WARN("an infini event could not be destroyed: ", error.what());
  }
}

void RecordEvent(void* event, c10::Stream stream) {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::EventRecord(ToEvent(event), RuntimeStream(stream)); });
}

void WaitEvent(void* event, c10::Stream stream) {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::StreamWaitEvent(RuntimeStream(stream), ToEvent(event)); });
}

bool QueryEvent(void* event) {
  BoundThread();
  return WithTorchErrors([&] { return rt::runtime::EventQuery(ToEvent(event)); });
}

void SynchronizeEvent(void* event) {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::EventSynchronize(ToEvent(event)); });
}

double ElapsedTime(void* start, void* end) {
  BoundThread();
  return WithTorchErrors(
      [&] { return rt::runtime::EventElapsedTime(ToEvent(start), ToEvent(end)); });
}

PooledEvent::PooledEvent(c10::DeviceIndex device) : device_(device) {
  {
    EventPool& pool = EventsOf(device);
    const std::scoped_lock lock(pool.mutex);
    if (!pool.free.empty()) {
      event_ = pool.free.back();
      pool.free.pop_back();
      return;
    }
  }
  event_ = NewEvent(device, /*timing=*/false);
}

PooledEvent::PooledEvent(c10::Stream stream) : PooledEvent(stream.device_index()) {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::EventRecord(event_, RuntimeStream(stream)); });
}

PooledEvent::PooledEvent(PooledEvent&& other) noexcept
    : device_(other.device_), event_(std::exchange(other.event_, {})) {}

PooledEvent& PooledEvent::operator=(PooledEvent&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}

PooledEvent::~PooledEvent() {
  if (event_ == rt::Event{}) return;
  EventPool& pool = EventsOf(device_);
  const std::scoped_lock lock(pool.mutex);
  pool.free.push_back(event_);
}

bool PooledEvent::Done() const {
  BoundThread();
  return WithTorchErrors([&] { return rt::runtime::EventQuery(event_); });
}

void PooledEvent::Wait() const {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::EventSynchronize(event_); });
}

void PooledEvent::Block(c10::Stream stream) const {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::StreamWaitEvent(RuntimeStream(stream), event_); });
}

}  // namespace torch_infini
