// The backend of InfiniRT that serves `infini`, and the calling thread's device.
#ifndef TORCH_INFINI_RUNTIME_DEVICE_H_
#define TORCH_INFINI_RUNTIME_DEVICE_H_

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <infini/rt/device.h>
#include <infini/rt/runtime.h>

#include <array>
#include <cstdint>

namespace torch_infini {

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

/// Most devices that one process can use.
inline constexpr int kMaxDevices = 16;

/// Facts about the backend that do not change while the process lives.
struct Backend {
  infini::rt::Device::Type type = infini::rt::Device::Type::kCpu;
  int device_count = 0;
  std::array<bool, infini::rt::kCapabilityCount> capabilities{};

  bool Has(infini::rt::Capability capability) const noexcept {
    return capabilities[static_cast<std::size_t>(capability)];
  }
};

/// Returns the backend, which the first call chooses: the first compiled
/// accelerator that reports a device, else cpu. Throws where no backend can be
/// used: in a forked child of a process that used one.
const Backend& GetBackend();

/// Whether a thread of this process has been bound to a device, and may use it.
bool IsInitialized() noexcept;

/// Throws unless InfiniRT was built with its cpu backend.
void RequireCpuBackend();

/// Whether this process was forked from one that used the backend.
bool InBadFork() noexcept;

/// Throws the error that tells a forked child to use `spawn`.
[[noreturn]] void ThrowBadFork();

/// What torch-infini keeps for each thread, so that no call asks InfiniRT for
/// the current device or stream.
struct ThreadState {
  std::uint64_t generation = 0;  // of InfiniRT's selection when last bound
  c10::DeviceIndex device = 0;
  std::array<c10::StreamId, kMaxDevices> stream_ids{};  // 0: the default stream
};

extern thread_local constinit ThreadState thread_state;

/// Selects the backend in the calling thread and restores its device there.
void BindThread(ThreadState& state);

/// Makes sure that the calling thread's InfiniRT works on the backend, and
/// returns the thread's state. Everything that calls InfiniRT starts here.
inline ThreadState& BoundThread() {
  ThreadState& state = thread_state;
  if (state.generation != infini::rt::runtime::SelectionGeneration()) [[unlikely]] {
    BindThread(state);
  }
  return state;
}

/// Number of devices; throws like `GetBackend`.
c10::DeviceIndex DeviceCount();

/// Returns `index`, or the current device for -1; throws when there is none
/// such. Takes more than a `c10::DeviceIndex` can hold, so that what a caller
/// wrote is checked and not what is left of it.
c10::DeviceIndex CheckedDevice(std::int64_t index);

/// The calling thread's current device.
inline c10::DeviceIndex CurrentDevice() noexcept { return thread_state.device; }

/// Makes `index` current and returns the device that was. Throws when there is
/// none such.
c10::DeviceIndex ExchangeDevice(c10::DeviceIndex index);

/// Waits for all work on `index` without holding any lock.
void SynchronizeDevice(c10::DeviceIndex index);

/// The device of InfiniRT behind `infini:index`.
inline infini::rt::Device RuntimeDevice(c10::DeviceIndex index) {
  return {GetBackend().type, index};
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_DEVICE_H_
