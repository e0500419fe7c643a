#include "runtime/allocator.h"

#include <c10/util/Exception.h>
#include <infini/rt/guard.h>
#include <infini/rt/runtime.h>

#include <array>
#include <memory>

#include "runtime/block_pool.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

BlockPool& PoolOf(c10::DeviceIndex device) {
  // Never destroyed: tensors may die after the statics of this library.
  static auto* const pools = [] {
    auto* const all = new std::array<std::unique_ptr<BlockPool>, kMaxDevices>;
    for (int i = 0; i < kMaxDevices; ++i) {
      (*all)[static_cast<std::size_t>(i)] =
          std::make_unique<BlockPool>(static_cast<c10::DeviceIndex>(i));
    }
    return all;
  }();
  return *(*pools)[static_cast<std::size_t>(device)];
}

/// Tells a memory profiler, if there is one, of bytes taken (or given back, if
/// negative).
void TellProfiler(const Block& block, std::int64_t bytes) {
  if (!c10::memoryProfilingEnabled()) [[likely]] {
    return;
  }
  const auto stats = PoolOf(block.device).Stats();
  const auto total = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::reportMemoryUsageToProfiler(
      block.data, bytes, static_cast<std::size_t>(stats.allocated_bytes[total].current),
      static_cast<std::size_t>(stats.reserved_bytes[total].current), {kDeviceType, block.device});
}

void DeleteBlock(void* context) {
  // A forked child only forgets its copies: the memory is the parent's.
  if (context == nullptr || InBadFork()) return;
  auto* const block = static_cast<Block*>(context);
  TellProfiler(*block, -static_cast<std::int64_t>(block->size));
  PoolOf(block->device).Free(block);
}

class CachingAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override { return Allocate(bytes, CurrentDevice()); }

  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    const c10::DeviceIndex device = BoundThread().device;
    WithTorchErrors([&] {
      rt::runtime::MemcpyAsync(target, source, bytes, rt::MemcpyKind::kDeviceToDevice,
                               CurrentRuntimeStream(device));
    });
  }

  bool initialized() override { return !InBadFork(); }

  void emptyCache(c10::MempoolId_t /*pool*/) override {
    const c10::DeviceIndex count = DeviceCount();
    for (c10::DeviceIndex i = 0; i < count; ++i) PoolOf(i).ReleaseCached();
  }

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    if (InBadFork()) ThrowBadFork();
    if (data.get() == nullptr || !IsTracked(data)) return;
    auto* const block = static_cast<Block*>(data.get_context());
    TORCH_CHECK(stream.device() == c10::Device(kDeviceType, block->device),
                "record_stream: the memory is on infini:", static_cast<int>(block->device),
                ", the stream on ", stream.device());
    PoolOf(block->device).RecordStream(block, stream.id());
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return PoolOf(CheckedDevice(device)).Stats();
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    PoolOf(CheckedDevice(device)).ResetAccumulatedStats();
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    PoolOf(CheckedDevice(device)).ResetPeakStats();
  }

  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    return DeviceMemory(CheckedDevice(device));
  }
};

}  // namespace

c10::DeviceAllocator& Allocator() {
  static auto* const allocator = new CachingAllocator;
  return *allocator;
}

c10::DataPtr Allocate(std::size_t bytes, c10::DeviceIndex device) {
  const ThreadState& state = BoundThread();
  if (device < 0) device = state.device;
  CheckedDevice(device);
  const c10::Device where(kDeviceType, device);
  if (bytes == 0) return {nullptr, nullptr, &DeleteBlock, where};
  Block* const block =
      PoolOf(device).Allocate(bytes, state.stream_ids[static_cast<std::size_t>(device)]);
  TellProfiler(*block, static_cast<std::int64_t>(block->size));
  return {block->data, block, &DeleteBlock, where};
}

bool IsTracked(const c10::DataPtr& data) { return data.get_deleter() == &DeleteBlock; }

std::optional<c10::DeviceIndex> DeviceOf(const void* data) {
  const c10::DeviceIndex count = DeviceCount();
  for (c10::DeviceIndex i = 0; i < count; ++i) {
    if (PoolOf(i).Owns(data)) return i;
  }
  return std::nullopt;
}

std::pair<std::size_t, std::size_t> DeviceMemory(c10::DeviceIndex device) {
  BoundThread();
  return WithTorchErrors([&] {
    const rt::DeviceGuard guard(RuntimeDevice(device));
    const rt::MemoryInfo info = rt::runtime::GetMemoryInfo();
    return std::pair(info.free, info.total);
  });
}

}  // namespace torch_infini
