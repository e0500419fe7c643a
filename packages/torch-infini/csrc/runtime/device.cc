#include "runtime/device.h"

#include <c10/util/Exception.h>
#include <infini/rt/guard.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "runtime/error.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

std::atomic<bool> device_in_use{false};
std::atomic<bool> in_bad_fork{false};

Backend ChooseBackend() {
  return WithTorchErrors([] {
    Backend backend;
    for (const rt::Device::Type type : rt::runtime::CompiledBackends()) {
      if (type == rt::Device::Type::kCpu) continue;
      rt::runtime::SelectBackend(type);
      if (rt::runtime::DeviceCount() > 0) {
        backend.type = type;
        break;
      }
    }
    rt::runtime::SelectBackend(backend.type);
    backend.device_count = std::min(rt::runtime::DeviceCount(), kMaxDevices);
    for (int i = 0; i < rt::kCapabilityCount; ++i) {
      backend.capabilities[static_cast<std::size_t>(i)] =
          rt::runtime::HasCapability(static_cast<rt::Capability>(i));
    }
    pthread_atfork(nullptr, nullptr, [] {
      // A parent that only counted its devices, or seeded their generators, leaves them usable.
      if (device_in_use.load(std::memory_order_relaxed)) {
        in_bad_fork.store(true, std::memory_order_relaxed);
      }
      // Not the selection of any thread, so that the next call stops in
      // `BindThread`.
      thread_state.generation = 0;
    });
    return backend;
  });
}

}  // namespace

thread_local constinit ThreadState thread_state;

bool InBadFork() noexcept { return in_bad_fork.load(std::memory_order_relaxed); }

bool IsInitialized() noexcept {
  return device_in_use.load(std::memory_order_acquire) && !InBadFork();
}

void ThrowBadFork() {
  TORCH_CHECK(false,
              "infini cannot be used in a forked child: the parent process had used "
              "it before, and neither device nor memory survive fork(). Start the "
              "child with the 'spawn' method: "
              "torch.multiprocessing.set_start_method('spawn')");
}

const Backend& GetBackend() {
  if (InBadFork()) [[unlikely]] {
    ThrowBadFork();
  }
  static const Backend backend = ChooseBackend();
  return backend;
}

void RequireCpuBackend() {
  const auto compiled = rt::runtime::CompiledBackends();
  TORCH_CHECK(std::find(compiled.begin(), compiled.end(), rt::Device::Type::kCpu) != compiled.end(),
              "libinfinirt was built without its cpu backend, which "
              "torch-infini falls back to; build InfiniRT with -DWITH_CPU=ON");
}

void BindThread(ThreadState& state) {
  const Backend& backend = GetBackend();
  WithTorchErrors([&] {
    rt::runtime::SelectBackend(backend.type);
    if (backend.device_count > 0) rt::runtime::SetDevice(state.device);
    state.generation = rt::runtime::SelectionGeneration();
  });
  device_in_use.store(true, std::memory_order_release);
}

c10::DeviceIndex DeviceCount() { return static_cast<c10::DeviceIndex>(GetBackend().device_count); }

c10::DeviceIndex CheckedDevice(std::int64_t index) {
  if (index == -1) return CurrentDevice();
  const c10::DeviceIndex count = DeviceCount();
  TORCH_CHECK(index >= 0 && index < count, "infini:", index, " does not exist: there ",
              count == 1 ? "is " : "are ", static_cast<int>(count), " infini device",
              count == 1 ? "" : "s", ", numbered from 0");
  return static_cast<c10::DeviceIndex>(index);
}

c10::DeviceIndex ExchangeDevice(c10::DeviceIndex index) {
  ThreadState& state = BoundThread();
  const c10::DeviceIndex previous = state.device;
  if (index == -1 || index == previous) return previous;
  CheckedDevice(index);
  WithTorchErrors([&] { rt::runtime::SetDevice(index); });
  state.device = index;
  return previous;
}

void SynchronizeDevice(c10::DeviceIndex index) {
  BoundThread();
  index = CheckedDevice(index);
  WithTorchErrors([&] {
    const rt::DeviceGuard guard(RuntimeDevice(index));
    rt::runtime::DeviceSynchronize();
  });
}

}  // namespace torch_infini
