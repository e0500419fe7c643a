// What the runtime keeps per thread, and the entry check of every runtime function.
#ifndef INFINI_RT_CORE_THREAD_STATE_H_
#define INFINI_RT_CORE_THREAD_STATE_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "core/backend.h"
#include "infini/rt/device.h"

namespace infini::rt {

/// Trivial per-thread state, so that reading it costs one load.
struct ThreadState {
  const Backend* backend;  // null until the thread selects or first uses one
  std::uint64_t generation = 1;
  std::array<std::int32_t, Device::kTypeCount>
      device{};                 // current device of backends that leave it to the core
  std::uint64_t token = 0;      // identity of the thread; 0 until `ThreadToken` gives one
  int captures = 0;             // captures that this thread may be recording
  bool runs_host_task = false;  // the thread is a worker of an asynchronous backend
};

extern constinit thread_local ThreadState thread_state;

/// Returns a number that no other thread of the process ever has.
std::uint64_t ThreadToken() noexcept;

/// Selects the default backend for the calling thread and returns it.
const Backend& SelectDefaultBackendTable();

/// Returns the calling thread's backend, selecting the default one if need be.
inline const Backend& SelectedBackendTable() {
  const Backend* const backend = thread_state.backend;
  return backend != nullptr ? *backend : SelectDefaultBackendTable();
}

/// Makes `backend` the calling thread's backend.
void SelectBackendTable(const Backend& backend) noexcept;

/// The rare part of `CheckUsable`.
void CheckUsableSlow(Function function, const Backend& backend);

/// The check that all runtime functions share. Throws `Error` in a host task of an asynchronous
/// backend and in a child whose parent used a backend that does not survive fork.
inline void CheckUsable(Function function, const Backend& backend) {
  if (thread_state.runs_host_task || !backend.survives_fork) CheckUsableSlow(function, backend);
}

/// Entry of a runtime function: returns the selected backend after `CheckUsable` and `on_call`.
inline const Backend& Enter(Function function) {
  const Backend& backend = SelectedBackendTable();
  CheckUsable(function, backend);
  if (backend.on_call != nullptr) backend.on_call(function);
  return backend;
}

/// As `Enter` for a function that reads or changes nothing on the device, and so is allowed after
/// fork.
inline const Backend& EnterQuery(Function function) {
  const Backend& backend = SelectedBackendTable();
  if (backend.on_call != nullptr) backend.on_call(function);
  return backend;
}

/// Returns the index of the calling thread's current device.
inline int CurrentDeviceIndex(const Backend& backend) {
  if (backend.get_device != nullptr) return backend.get_device();
  return thread_state.device[static_cast<std::size_t>(backend.type)];
}

/// Makes `index`, which is valid, current.
void SetCurrentDeviceIndex(const Backend& backend, int index);

/// Throws `Error` when `index` is not a device of `backend`.
void CheckDeviceIndex(Function function, const Backend& backend, int index);

/// Throws an `Error` of `function` on device `index` of `backend`.
[[noreturn]] void Fail(ErrorCode code, Function function, const Backend& backend, int index,
                       std::string_view message);

/// Throws an `Error` of `function` on the family of `backend`.
[[noreturn]] void Fail(ErrorCode code, Function function, const Backend& backend,
                       std::string_view message);

/// Called in a forked child: backends that were used and do not survive fork refuse from now on.
void MarkBackendsForked() noexcept;

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_THREAD_STATE_H_
