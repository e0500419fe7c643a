// Memory of one simulated device: addresses that the host cannot touch, and an alias that only
// tasks know.
#ifndef INFINI_RT_BACKENDS_SIM_DEVICE_MEMORY_H_
#define INFINI_RT_BACKENDS_SIM_DEVICE_MEMORY_H_

#include <cstddef>
#include <map>
#include <mutex>

namespace infini::rt::sim {

/// A memfd that is mapped twice: without any access for the addresses handed out, and readable and
/// writable for tasks. Protection bits belong to mappings of the process, not to threads, so one
/// mapping could not keep out the host alone.
class DeviceMemory {
 public:
  /// Reserves `capacity` bytes of address space; pages take memory when a task first touches them.
  /// Throws `infini::rt::Error` when the system refuses.
  explicit DeviceMemory(std::size_t capacity);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  /// Returns the device address of `bytes` bytes (aligned to 512), or null when they do not fit.
  void* Allocate(std::size_t bytes);

  /// Frees what `Allocate` returned.
  void Release(void* data) noexcept;

  /// Whether `data` is an address of this device, allocated or not.
  bool Contains(const void* data) const noexcept;

  /// Returns the alias of [data, data + bytes), or null when the range is not inside one live
  /// allocation.
  void* Alias(const void* data, std::size_t bytes) const;

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t used() const;

 private:
  std::size_t OffsetOf(const void* data) const noexcept;

  std::size_t capacity_;
  int file_ = -1;
  std::byte* device_base_ = nullptr;
  std::byte* alias_base_ = nullptr;
  mutable std::mutex mutex_;                 // guards the maps and `used_`
  std::map<std::size_t, std::size_t> free_;  // offset -> size; neighbours are merged
  std::map<std::size_t, std::size_t> live_;  // offset -> size asked for
  std::size_t used_ = 0;
};

}  // namespace infini::rt::sim

#endif  // INFINI_RT_BACKENDS_SIM_DEVICE_MEMORY_H_
