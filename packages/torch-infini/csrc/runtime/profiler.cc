#include "runtime/profiler.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <functional>
#include <memory>

#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

using torch::profiler::impl::ProfilerStubs;
using torch::profiler::impl::ProfilerVoidEventStub;

class Stubs final : public ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event,
              std::int64_t* cpu_ns) const override {
    BoundThread();
    const c10::DeviceIndex current = CurrentDevice();
    if (device != nullptr) *device = current;
    *event = ProfilerVoidEventStub(CreateEvent(current, /*timing=*/true),
                                   [](void* handle) { DestroyEvent(handle); });
    if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
    RecordEvent(event->get(), CurrentStream(current));
  }

  // In microseconds.
  float elapsed(const ProfilerVoidEventStub* start,
                const ProfilerVoidEventStub* end) const override {
    SynchronizeEvent(start->get());
    SynchronizeEvent(end->get());
    return static_cast<float>(ElapsedTime(start->get(), end->get()) * 1000.0);
  }

  // Marks are for tools of other vendors.
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}

  bool enabled() const override { return true; }

  void onEachDevice(std::function<void(int)> function) const override {
    const c10::DeviceIndex count = DeviceCount();
    const c10::DeviceIndex previous = CurrentDevice();
    for (c10::DeviceIndex i = 0; i < count; ++i) {
      ExchangeDevice(i);
      function(i);
    }
    ExchangeDevice(previous);
  }

  void synchronize() const override {
    const c10::DeviceIndex count = DeviceCount();
    for (c10::DeviceIndex i = 0; i < count; ++i) SynchronizeDevice(i);
  }
};

}  // namespace

void RegisterProfiler() {
  // PyTorch keeps a plain pointer for the life of the process.
  static auto* const stubs = new Stubs;
  torch::profiler::impl::registerPrivateUse1Methods(stubs);
}

}  // namespace torch_infini
