#include "core/thread_state.h"

#include <atomic>
#include <string>

#include "infini/rt/error.h"

namespace infini::rt {

constinit thread_local ThreadState thread_state{};

namespace {

std::atomic<bool> backend_used[Device::kTypeCount];
std::atomic<bool> backend_lost_by_fork[Device::kTypeCount];

const Backend& DefaultBackend() {
  const Backend* cpu = nullptr;
  for (const Backend* backend : CompiledBackendTables()) {
    if (backend->type == Device::Type::kCpu) {
      cpu = backend;
    } else if (backend->device_count() > 0) {
      return *backend;
    }
  }
  return cpu != nullptr ? *cpu : *CompiledBackendTables().front();
}

}  // namespace

std::uint64_t ThreadToken() noexcept {
  static std::atomic<std::uint64_t> next{1};
  if (thread_state.token == 0) thread_state.token = next.fetch_add(1, std::memory_order_relaxed);
  return thread_state.token;
}

const Backend& SelectDefaultBackendTable() {
  thread_state.backend = &DefaultBackend();
  return *thread_state.backend;
}

void SelectBackendTable(const Backend& backend) noexcept {
  if (thread_state.backend == &backend) return;
  thread_state.backend = &backend;
  ++thread_state.generation;
}

void CheckUsableSlow(Function function, const Backend& backend) {
  if (thread_state.runs_host_task) {
    Fail(ErrorCode::kInvalidState, function, backend,
         "a host task of an asynchronous stream cannot call the runtime; queue the work from the "
         "thread that owns the "
         "stream");
  }
  if (!backend.survives_fork) {
    const auto type = static_cast<std::size_t>(backend.type);
    if (backend_lost_by_fork[type].load(std::memory_order_relaxed)) {
      Fail(ErrorCode::kInvalidState, function, backend,
           "this process was forked after its parent had used the device; start workers with the "
           "'spawn' method "
           "instead of fork");
    }
    if (!backend_used[type].load(std::memory_order_relaxed))
      backend_used[type].store(true, std::memory_order_relaxed);
  }
}

void SetCurrentDeviceIndex(const Backend& backend, int index) {
  if (backend.set_device != nullptr) {
    backend.set_device(index);
  } else {
    thread_state.device[static_cast<std::size_t>(backend.type)] = index;
  }
}

void CheckDeviceIndex(Function function, const Backend& backend, int index) {
  const int count = backend.device_count();
  if (index >= 0 && index < count) return;
  const std::string name = DeviceTypeName(backend.type);
  if (count == 0)
    Fail(ErrorCode::kIndexOutOfRange, function, backend,
         backend.type == Device::Type::kSim
             ? "there is no device of this backend; set INFINI_RT_SIM_DEVICES to 1 or more before "
               "its first use"
             : "there is no device of this backend");
  Fail(ErrorCode::kIndexOutOfRange, function, backend,
       "device index " + std::to_string(index) + " is out of range; the backend has " +
           std::to_string(count) +
           (count == 1 ? " device, so only index 0 exists"
                       : " devices, so indices end at " + std::to_string(count - 1)));
}

void Fail(ErrorCode code, Function function, const Backend& backend, int index,
          std::string_view message) {
  throw Error(code, FunctionName(function), Device(backend.type, index).ToString(), message);
}

void Fail(ErrorCode code, Function function, const Backend& backend, std::string_view message) {
  throw Error(code, FunctionName(function), DeviceTypeName(backend.type), message);
}

void MarkBackendsForked() noexcept {
  for (std::size_t type = 0; type < Device::kTypeCount; ++type) {
    if (backend_used[type].load(std::memory_order_relaxed)) backend_lost_by_fork[type].store(true);
  }
}

}  // namespace infini::rt
