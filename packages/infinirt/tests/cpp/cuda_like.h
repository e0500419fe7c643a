// What the tests of a CUDA-like backend share.
#ifndef INFINI_RT_TESTS_CUDA_LIKE_H_
#define INFINI_RT_TESTS_CUDA_LIKE_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "infini/rt.h"

namespace infini::rt::testing {

/// Exit status that makes CTest report a program as skipped.
inline constexpr int kSkipped = 77;

/// Returns the CUDA-like backend of this build.
inline Device::Type CudaLikeBackend() {
  for (const Device::Type type : runtime::CompiledBackends()) {
    if (type != Device::Type::kCpu && type != Device::Type::kSim) return type;
  }
  throw std::logic_error("this build has no CUDA-like backend");
}

/// Bytes of device memory, freed at the end of the scope.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t size)
      : size_(size), data_(static_cast<std::uint8_t*>(runtime::Malloc(size))) {}
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { runtime::Free(data_); }

  std::uint8_t* data() const { return data_; }

  std::vector<std::uint8_t> ToHost() const {
    std::vector<std::uint8_t> host(size_);
    runtime::Memcpy(host.data(), data_, size_, MemcpyKind::kDeviceToHost);
    return host;
  }

 private:
  std::size_t size_;
  std::uint8_t* data_;
};

/// Returns `size` bytes that differ from their neighbours: first, first + 1, ...
inline std::vector<std::uint8_t> CountingBytes(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

/// The exception that host tasks of these tests throw.
struct TaskFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the text of the `TaskFailure` that `call` throws, or "" when it throws none.
template <typename Call>
std::string FailureOf(Call call) {
  try {
    call();
  } catch (const TaskFailure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace infini::rt::testing

#endif  // INFINI_RT_TESTS_CUDA_LIKE_H_
