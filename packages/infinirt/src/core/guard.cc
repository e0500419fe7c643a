#include "infini/rt/guard.h"

#include "core/current_stream.h"
#include "core/thread_state.h"
#include "infini/rt/error.h"

namespace infini::rt {

DeviceGuard::DeviceGuard(Device device)
    : previous_backend_(SelectedBackendTable().type), previous_index_(0), device_(device) {
  runtime::SelectBackend(device.type());
  try {
    const Backend& backend = SelectedBackendTable();
    previous_index_ = CurrentDeviceIndex(backend);
    if (previous_index_ != device.index()) {
      runtime::SetDevice(device.index());
    } else {
      CheckDeviceIndex(Function::kSetDevice, backend, device.index());
    }
  } catch (...) {
    runtime::SelectBackend(previous_backend_);
    throw;
  }
}

DeviceGuard::~DeviceGuard() {
  // Through the table: what was current is valid, and a destructor must not meet an injected fault.
  const Backend& backend = *FindBackend(device_.type());
  try {
    if (previous_index_ != device_.index()) SetCurrentDeviceIndex(backend, previous_index_);
  } catch (const Error&) {
    // Only a device runtime that has broken down refuses a valid index; every later call reports
    // that, and a destructor has nobody to tell.
  }
  SelectBackendTable(*FindBackend(previous_backend_));
}

StreamGuard::StreamGuard(Stream stream)
    : device_guard_(runtime::StreamDevice(stream)), previous_(runtime::CurrentStream()) {
  runtime::SetCurrentStream(stream);
}

StreamGuard::~StreamGuard() {
  const Backend& backend = *FindBackend(device_guard_.device().type());
  RestoreCurrentStream(backend, device_guard_.device().index(), previous_);
}

}  // namespace infini::rt
