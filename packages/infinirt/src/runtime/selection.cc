// Backend selection and capabilities.
#include <string>

#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt {

const char* CapabilityName(Capability capability) noexcept {
  static constexpr const char* kNames[kCapabilityCount] = {
      "async_memcpy", "pinned_host",     "async_malloc",  "event_timing", "blocking_event",
      "ipc_event",    "stream_priority", "graph_capture", "host_access",  "async_streams",
  };
  const int index = static_cast<int>(capability);
  return index < kCapabilityCount ? kNames[index] : "invalid";
}

namespace runtime {

std::vector<Device::Type> CompiledBackends() {
  std::vector<Device::Type> types;
  for (const Backend* backend : CompiledBackendTables()) types.push_back(backend->type);
  return types;
}

void SelectBackend(Device::Type type) {
  const Backend* const backend = FindBackend(type);
  if (backend == nullptr) {
    std::string names;
    for (const Backend* compiled : CompiledBackendTables()) {
      names.append(names.empty() ? "" : ", ").append(DeviceTypeName(compiled->type));
    }
    throw Error(ErrorCode::kNotSupported, "SelectBackend", DeviceTypeName(type),
                "this build of InfiniRT does not have the backend; it has " + names);
  }
  SelectBackendTable(*backend);
}

Device::Type SelectedBackend() { return SelectedBackendTable().type; }

std::uint64_t SelectionGeneration() noexcept { return thread_state.generation; }

bool HasCapability(Capability capability) {
  const Backend& backend = SelectedBackendTable();
  if (static_cast<int>(capability) >= kCapabilityCount) {
    throw Error(ErrorCode::kInvalidArgument, "HasCapability", DeviceTypeName(backend.type),
                "value " + std::to_string(static_cast<int>(capability)) + " is not a capability");
  }
  return backend.has(capability);
}

}  // namespace runtime
}  // namespace infini::rt
