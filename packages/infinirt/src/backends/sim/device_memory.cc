#include "backends/sim/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "infini/rt/error.h"

namespace infini::rt::sim {
namespace {

constexpr std::size_t kAlignment = 512;
constexpr std::size_t kPage = 4096;

std::size_t RoundUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

[[noreturn]] void FailSystem(const char* call) {
  throw Error(ErrorCode::kOutOfMemory, "Malloc", "sim",
              std::string(call) + " of simulated device memory failed: " + std::strerror(errno) +
                  "; lower INFINI_RT_SIM_MEMORY (bytes per device) or INFINI_RT_SIM_DEVICES");
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t capacity) : capacity_(RoundUp(capacity, kPage)) {
  file_ = memfd_create("infini_rt_sim", MFD_CLOEXEC);
  if (file_ < 0) FailSystem("memfd_create");
  if (ftruncate(file_, static_cast<off_t>(capacity_)) != 0) {
    close(file_);
    FailSystem("ftruncate");
  }
  void* const device = mmap(nullptr, capacity_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  void* const alias =
      mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (device == MAP_FAILED || alias == MAP_FAILED) {
    if (device != MAP_FAILED) munmap(device, capacity_);
    if (alias != MAP_FAILED) munmap(alias, capacity_);
    close(file_);
    FailSystem("mmap");
  }
  // A forked child shares the pages; it must not be able to change its parent's device memory.
  madvise(alias, capacity_, MADV_DONTFORK);
  madvise(alias, capacity_, MADV_DONTDUMP);
  madvise(device, capacity_, MADV_DONTDUMP);
  device_base_ = static_cast<std::byte*>(device);
  alias_base_ = static_cast<std::byte*>(alias);
  free_.emplace(0, capacity_);
}

DeviceMemory::~DeviceMemory() {
  munmap(device_base_, capacity_);
  munmap(alias_base_, capacity_);
  close(file_);
}

void* DeviceMemory::Allocate(std::size_t bytes) {
  if (bytes > capacity_) return nullptr;
  const std::size_t size = RoundUp(bytes, kAlignment);
  const std::scoped_lock lock(mutex_);
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    if (block->second < size) continue;
    const auto [offset, available] = *block;
    live_.emplace(offset, bytes);  // the only step that can fail, and the first
    auto node = free_.extract(block);
    if (available > size) {
      node.key() = offset + size;
      node.mapped() = available - size;
      free_.insert(std::move(node));
    }
    used_ += size;
    return device_base_ + offset;
  }
  return nullptr;
}

void DeviceMemory::Release(void* data) noexcept {
  const std::scoped_lock lock(mutex_);
  // The node moves from one map to the other, so that nothing has to be allocated.
  auto node = live_.extract(OffsetOf(data));
  std::size_t offset = node.key();
  std::size_t size = RoundUp(node.mapped(), kAlignment);
  used_ -= size;
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto previous = std::prev(after);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      free_.erase(previous);
    }
  }
  node.key() = offset;
  node.mapped() = size;
  free_.insert(std::move(node));
  // Whole free pages go back to the system, so that a long run does not keep its peak. A block that
  // only grew at an edge punches its earlier pages again, which costs nothing.
  const std::size_t first = RoundUp(offset, kPage);
  const std::size_t last = (offset + size) / kPage * kPage;
  constexpr std::size_t kWorthACall = std::size_t{1} << 16;
  if (last > first && last - first >= kWorthACall) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
              static_cast<off_t>(last - first));
  }
}

bool DeviceMemory::Contains(const void* data) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto base = reinterpret_cast<std::uintptr_t>(device_base_);
  return address >= base && address - base < capacity_;
}

void* DeviceMemory::Alias(const void* data, std::size_t bytes) const {
  const std::size_t offset = OffsetOf(data);
  const std::scoped_lock lock(mutex_);
  auto found = live_.upper_bound(offset);
  if (found == live_.begin()) return nullptr;
  --found;
  const std::size_t inside = offset - found->first;
  if (inside > found->second || bytes > found->second - inside) return nullptr;
  return alias_base_ + offset;
}

std::size_t DeviceMemory::used() const {
  const std::scoped_lock lock(mutex_);
  return used_;
}

std::size_t DeviceMemory::OffsetOf(const void* data) const noexcept {
  return reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(device_base_);
}

}  // namespace infini::rt::sim
