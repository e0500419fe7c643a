// Scopes that change the calling thread's backend, device or stream and put them back.
#ifndef INFINI_RT_GUARD_H_
#define INFINI_RT_GUARD_H_

#include "infini/rt/abi.h"
#include "infini/rt/device.h"
#include "infini/rt/runtime.h"

namespace infini::rt {

/// Selects the backend of a device and makes the device current; the destructor restores both.
class DeviceGuard {
 public:
  /// Throws `Error` and changes nothing when the backend is not compiled or the index is out of
  /// range.
  INFINI_RT_EXPORT explicit DeviceGuard(Device device);
  INFINI_RT_EXPORT ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  /// The device that the scope made current.
  Device device() const noexcept { return device_; }

 private:
  Device::Type previous_backend_;
  int previous_index_;  // current device of the guarded backend before the guard
  Device device_;
};

/// Makes a stream's device current and the stream the current one there; the destructor restores
/// both.
class StreamGuard {
 public:
  /// Throws `Error` and changes nothing when the stream is not one of the selected backend.
  INFINI_RT_EXPORT explicit StreamGuard(Stream stream);
  INFINI_RT_EXPORT ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  DeviceGuard device_guard_;  // first: the stream below is the current one of the guarded device
  Stream previous_;
};

}  // namespace infini::rt

#endif  // INFINI_RT_GUARD_H_
