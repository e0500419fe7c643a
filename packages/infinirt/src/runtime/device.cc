// Devices: which there are, which is current, what they have.
#include "core/stream_record.h"
#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt::runtime {

int DeviceCount() { return EnterQuery(Function::kDeviceCount).device_count(); }

int GetDevice() { return CurrentDeviceIndex(EnterQuery(Function::kGetDevice)); }

void SetDevice(int index) {
  const Backend& backend = Enter(Function::kSetDevice);
  CheckDeviceIndex(Function::kSetDevice, backend, index);
  SetCurrentDeviceIndex(backend, index);
}

DeviceProperties GetDeviceProperties(int index) {
  const Backend& backend = Enter(Function::kGetDeviceProperties);
  CheckDeviceIndex(Function::kGetDeviceProperties, backend, index);
  return backend.device_properties(index);
}

void DeviceSynchronize() {
  const Backend& backend = Enter(Function::kDeviceSynchronize);
  RefuseDuringCapture(Function::kDeviceSynchronize, backend);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kDeviceSynchronize, backend, device);
  backend.device_synchronize(device);
  if (backend.take_error == nullptr) return;
  RaiseStreamError(backend, backend.default_stream(device));
  std::exception_ptr error;
  StreamTable().ForEach([&](StreamRecord& record) {
    if (error == nullptr && record.backend == &backend && record.device == device) {
      error = backend.take_error(record.native);
    }
  });
  if (error != nullptr) std::rethrow_exception(error);
}

MemoryInfo GetMemoryInfo() {
  const Backend& backend = Enter(Function::kGetMemoryInfo);
  const int device = CurrentDeviceIndex(backend);
  CheckDeviceIndex(Function::kGetMemoryInfo, backend, device);
  return backend.memory_info(device);
}

}  // namespace infini::rt::runtime
