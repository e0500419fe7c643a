// Runs the checks of the runtime on every backend that has a device.
#ifndef INFINI_RT_TESTS_BACKENDS_H_
#define INFINI_RT_TESTS_BACKENDS_H_

#include <cstddef>
#include <vector>

#include "check.h"
#include "infini/rt.h"

namespace infini::rt::testing {

/// Calls `function` once for each backend with a device, that backend selected and its device 0
/// current.
template <typename Function>
void ForEachBackend(Function function) {
  for (const Device::Type type : runtime::CompiledBackends()) {
    runtime::SelectBackend(type);
    if (runtime::DeviceCount() == 0) continue;
    runtime::SetDevice(0);
    const int before = failures;
    try {
      function();
    } catch (const Error& error) {
      ReportFailure(__FILE__, __LINE__, std::string("unexpected error: ") + error.what());
    }
    if (failures != before) std::cerr << "  (on backend " << DeviceTypeName(type) << ")\n";
  }
}

/// Copies host bytes to fresh device memory.
template <typename T>
T* ToDevice(const std::vector<T>& values) {
  T* const data = static_cast<T*>(runtime::Malloc(values.size() * sizeof(T)));
  runtime::Memcpy(data, values.data(), values.size() * sizeof(T), MemcpyKind::kHostToDevice);
  return data;
}

/// Copies `count` values from the device.
template <typename T>
std::vector<T> ToHost(const T* data, std::size_t count) {
  std::vector<T> values(count);
  runtime::Memcpy(values.data(), data, count * sizeof(T), MemcpyKind::kDeviceToHost);
  return values;
}

}  // namespace infini::rt::testing

#endif  // INFINI_RT_TESTS_BACKENDS_H_
