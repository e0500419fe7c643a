#include "runtime/host_allocator.h"

#include <ATen/core/CachingHostAllocator.h>
#include <infini/rt/runtime.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

using HostBlock = at::HostBlock<c10::Stream>;

/// Address ranges of all pinned blocks, so that a slice is known as pinned too.
class PinnedRanges {
 public:
  void Add(const void* data, std::size_t size) {
    const std::unique_lock lock(mutex_);
    ranges_.emplace(static_cast<const std::byte*>(data), size);
  }

  void Remove(const void* data) {
    const std::unique_lock lock(mutex_);
    ranges_.erase(static_cast<const std::byte*>(data));
  }

  bool Contains(const void* data) const {
    const auto* const address = static_cast<const std::byte*>(data);
    const std::shared_lock lock(mutex_);
    const auto above = ranges_.upper_bound(address);
    if (above == ranges_.begin()) return false;
    const auto& [begin, size] = *std::prev(above);
    return std::less<>{}(address, begin + size);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, std::size_t> ranges_;
};

PinnedRanges& Ranges() {
  static auto* const ranges = new PinnedRanges;
  return *ranges;
}

// PyTorch's own caching of pinned memory; only the calls into the runtime are
// ours.
class CachingImplementation final : public at::CachingHostAllocatorImpl<c10::Stream, PooledEvent> {
 private:
  void allocate_host_memory(std::size_t size, void** data) override {
    BoundThread();
    *data = WithTorchErrors([&] { return rt::runtime::MallocHost(size); });
    Ranges().Add(*data, size);
  }

  void free_block(HostBlock* block) override {
    BoundThread();
    Ranges().Remove(block->ptr_);
    WithTorchErrors([&] { rt::runtime::FreeHost(block->ptr_); });
  }

  void record_stream(std::optional<std::vector<PooledEvent>>& events, c10::Stream stream) override {
    events->emplace_back(stream);
  }

  bool query_event(PooledEvent& event) override { return event.Done(); }

  c10::Stream get_current_stream() const override { return CurrentStream(CurrentDevice()); }

  bool stream_is_capturing(c10::Stream stream) const override {
    BoundThread();
    return WithTorchErrors([&] { return rt::runtime::StreamIsCapturing(RuntimeStream(stream)); });
  }
};

void DeletePinned(void* context);

using Interface = at::CachingHostAllocatorInterface<CachingImplementation, &DeletePinned>;

Interface& Instance() {
  // Never destroyed: tensors may die after the statics of this library.
  static auto* const allocator = new Interface;
  return *allocator;
}

void DeletePinned(void* context) {
  // A forked child only forgets its copies: the memory is the parent's.
  if (!InBadFork()) Instance().free(context);
}

}  // namespace

at::HostAllocator& PinnedAllocator() { return Instance(); }

bool IsPinned(const void* data) {
  // A forked child must not wait for a lock that another thread of its parent held, and cannot
  // copy from the parent's memory as from pinned memory.
  return !InBadFork() && Ranges().Contains(data);
}

bool RecordPinnedUse(const c10::DataPtr& data, c10::Stream stream) {
  if (data.get_deleter() != &DeletePinned) return false;
  return Instance().record_event(data.get(), data.get_context(), stream);
}

}  // namespace torch_infini
