#include "runtime/block_pool.h"

#include <c10/util/Exception.h>
#include <infini/rt/guard.h>
#include <infini/rt/runtime.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iomanip>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/allocator.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

using Stats = c10::CachingDeviceAllocator::DeviceStats;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr std::size_t kAlignment = 512;  // of blocks, in bytes
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallLimit = 1 * kMiB;
constexpr std::size_t kSmallSegment = 2 * kMiB;
constexpr std::size_t kOwnSegment = 10 * kMiB;  // from here on
constexpr std::size_t kLargeSegment = 20 * kMiB;
constexpr std::size_t kLargeRounding = 2 * kMiB;

std::size_t RoundUp(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::size_t SegmentSize(std::size_t size) {
  if (size <= kSmallLimit) return kSmallSegment;
  if (size < kOwnSegment) return kLargeSegment;
  return RoundUp(size, kLargeRounding);
}

std::string Readable(std::size_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2);
  if (bytes >= 1024 * kMiB) {
    text << static_cast<double>(bytes) / (1024.0 * kMiB) << " GiB";
  } else {
    text << static_cast<double>(bytes) / kMiB << " MiB";
  }
  return text.str();
}

StatArray Stats::* const kStatArrays[] = {
    &Stats::allocation,      &Stats::segment,
    &Stats::active,          &Stats::inactive_split,
    &Stats::allocated_bytes, &Stats::reserved_bytes,
    &Stats::active_bytes,    &Stats::inactive_split_bytes,
    &Stats::requested_bytes,
};

}  // namespace

bool BlockOrder::operator()(const Block* a, const Block* b) const noexcept {
  return std::tie(a->stream, a->size, a->data) < std::tie(b->stream, b->size, b->data);
}

Block* BlockPool::Allocate(std::size_t bytes, c10::StreamId stream) {
  TORCH_CHECK(bytes < PTRDIFF_MAX - kLargeRounding, "infini: cannot allocate ", bytes,
              " bytes; was the size computed from a negative number?");
  const std::size_t size = RoundUp(std::max<std::size_t>(bytes, 1), kAlignment);
  const bool small = size <= kSmallLimit;

  std::unique_lock lock(mutex_);
  if (!pending_.empty()) ReuseFinished();
  Block* block = TakeFree(size, stream, small);
  if (block == nullptr) block = NewSegment(size, stream, small);
  if (block == nullptr) {
    ++stats_.num_alloc_retries;
    lock.unlock();
    ReleaseCached();
    lock.lock();
    block = TakeFree(size, stream, small);
    if (block == nullptr) block = NewSegment(size, stream, small);
  }
  if (block == nullptr) {
    ++stats_.num_ooms;
    lock.unlock();
    ThrowOutOfMemory(bytes);
  }
  block->allocated = true;  // before the split, so that the rest stays apart
  Split(block, size);
  block->requested = bytes;
  Add(&Stats::allocation, small, 1);
  Add(&Stats::active, small, 1);
  Add(&Stats::allocated_bytes, small, block->size);
  Add(&Stats::active_bytes, small, block->size);
  Add(&Stats::requested_bytes, small, bytes);
  return block;
}

void BlockPool::Free(Block* block) noexcept {
  try {
    std::unique_lock lock(mutex_);
    block->allocated = false;
    Subtract(&Stats::allocation, block->small, 1);
    Subtract(&Stats::allocated_bytes, block->small, block->size);
    Subtract(&Stats::requested_bytes, block->small, block->requested);
    if (block->used_on.empty()) {
      AddFree(block);
      return;
    }
    const std::vector<c10::StreamId> streams = std::exchange(block->used_on, {});
    block->pending_events = static_cast<int>(streams.size());
    lock.unlock();
    for (const c10::StreamId id : streams) {
      PooledEvent event(StreamOf(device_, id));
      const std::scoped_lock relock(mutex_);
      pending_[id].push_back({std::move(event), block});
    }
  } catch (const std::exception& error) {
    TORCH_WARN("infini:", static_cast<int>(device_), ": ", block->size,
               " bytes are lost, since their last use cannot be tracked: ", error.what());
  }
}

void BlockPool::RecordStream(Block* block, c10::StreamId stream) {
  const std::scoped_lock lock(mutex_);
  if (stream == block->stream) return;
  auto& used = block->used_on;
  if (std::find(used.begin(), used.end(), stream) == used.end()) {
    used.push_back(stream);
  }
}

void BlockPool::ReleaseCached() {
  std::vector<Pending> waiting;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [stream, queue] : pending_) {
      std::move(queue.begin(), queue.end(), std::back_inserter(waiting));
    }
    pending_.clear();
    if (!waiting.empty()) ++stats_.num_sync_all_streams;
  }
  for (const Pending& pending : waiting) pending.event.Wait();
  std::vector<void*> segments;
  {
    const std::scoped_lock lock(mutex_);
    for (const Pending& pending : waiting) {
      if (--pending.block->pending_events == 0) AddFree(pending.block);
    }
    segments = TakeFreeSegments();
  }
  // Without the lock, since the runtime waits for the device. Every segment is
  // given back, whatever happens to one before it.
  std::exception_ptr failure;
  for (void* const segment : segments) {
    try {
      BoundThread();
      WithTorchErrors([&] {
        const rt::DeviceGuard guard(RuntimeDevice(device_));
        rt::runtime::Free(segment);
      });
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

bool BlockPool::Owns(const void* data) {
  const auto* const address = static_cast<const std::byte*>(data);
  const std::scoped_lock lock(mutex_);
  auto above = segments_.upper_bound(address);
  if (above == segments_.begin()) return false;
  const auto& [begin, size] = *std::prev(above);
  return std::less<>{}(address, begin + size);
}

Stats BlockPool::Stats() {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void BlockPool::ResetAccumulatedStats() {
  const std::scoped_lock lock(mutex_);
  for (const auto array : kStatArrays) {
    for (auto& stat : stats_.*array) stat.reset_accumulated();
  }
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void BlockPool::ResetPeakStats() {
  const std::scoped_lock lock(mutex_);
  for (const auto array : kStatArrays) {
    for (auto& stat : stats_.*array) stat.reset_peak();
  }
}

Block* BlockPool::TakeFree(std::size_t size, c10::StreamId stream, bool small) {
  FreeBlocks& blocks = FreeOf(small);
  search_key_.stream = stream;
  search_key_.size = size;
  search_key_.data = nullptr;
  const auto found = blocks.lower_bound(&search_key_);
  if (found == blocks.end() || (*found)->stream != stream) return nullptr;
  Block* const block = *found;
  // A request that would own its segment does not take one far too large.
  if (size >= kOwnSegment && block->size >= size + kLargeSegment) {
    return nullptr;
  }
  block->node = blocks.extract(found);
  if (block->previous != nullptr || block->next != nullptr) {
    Subtract(&Stats::inactive_split, small, 1);
    Subtract(&Stats::inactive_split_bytes, small, block->size);
  }
  return block;
}

Block* BlockPool::NewSegment(std::size_t size, c10::StreamId stream, bool small) {
  const std::size_t bytes = SegmentSize(size);
  void* data = nullptr;
  BoundThread();
  try {
    const rt::DeviceGuard guard(RuntimeDevice(device_));
    data = rt::runtime::Malloc(bytes);
  } catch (const rt::Error& error) {
    if (error.code() == rt::ErrorCode::kOutOfMemory) return nullptr;
    ThrowAsTorchError(error);
  }
  Block* const block = NewBlock();
  block->device = device_;
  block->stream = stream;
  block->data = static_cast<std::byte*>(data);
  block->size = bytes;
  block->small = small;
  segments_.emplace(block->data, bytes);
  ++stats_.num_device_alloc;
  Add(&Stats::segment, small, 1);
  Add(&Stats::reserved_bytes, small, bytes);
  return block;
}

Block* BlockPool::NewBlock() {
  if (!retired_.empty()) {
    Block* const block = retired_.back();
    retired_.pop_back();
    return block;
  }
  return &blocks_.emplace_back();
}

void BlockPool::Split(Block* block, std::size_t size) {
  const std::size_t rest = block->size - size;
  if (block->small ? rest < kAlignment : rest <= kSmallLimit) return;
  Block* const tail = NewBlock();
  tail->device = device_;
  tail->stream = block->stream;
  tail->data = block->data + size;
  tail->size = rest;
  tail->small = block->small;
  tail->previous = block;
  tail->next = block->next;
  if (tail->next != nullptr) tail->next->previous = tail;
  block->next = tail;
  block->size = size;
  Add(&Stats::active, block->small, 1);  // taken back by `AddFree`
  Add(&Stats::active_bytes, block->small, rest);
  AddFree(tail);
}

void BlockPool::AddFree(Block* block) {
  Subtract(&Stats::active, block->small, 1);
  Subtract(&Stats::active_bytes, block->small, block->size);
  block->requested = 0;
  block = Absorb(block, block->previous);
  block = Absorb(block, block->next);
  if (block->previous != nullptr || block->next != nullptr) {
    Add(&Stats::inactive_split, block->small, 1);
    Add(&Stats::inactive_split_bytes, block->small, block->size);
  }
  FreeBlocks& blocks = FreeOf(block->small);
  if (block->node.empty()) {
    blocks.insert(block);
  } else {
    blocks.insert(std::move(block->node));
  }
}

Block* BlockPool::Absorb(Block* block, Block* neighbour) {
  if (neighbour == nullptr || neighbour->allocated || neighbour->pending_events > 0) {
    return block;
  }
  neighbour->node = FreeOf(block->small).extract(neighbour);
  Subtract(&Stats::inactive_split, block->small, 1);
  Subtract(&Stats::inactive_split_bytes, block->small, neighbour->size);
  if (neighbour == block->previous) {
    block->data = neighbour->data;
    block->previous = neighbour->previous;
    if (block->previous != nullptr) block->previous->next = block;
  } else {
    block->next = neighbour->next;
    if (block->next != nullptr) block->next->previous = block;
  }
  block->size += neighbour->size;
  neighbour->previous = nullptr;
  neighbour->next = nullptr;
  retired_.push_back(neighbour);
  return block;
}

void BlockPool::ReuseFinished() {
  for (auto queue = pending_.begin(); queue != pending_.end();) {
    auto& waiting = queue->second;
    while (!waiting.empty() && waiting.front().event.Done()) {
      Block* const block = waiting.front().block;
      waiting.pop_front();
      if (--block->pending_events == 0) AddFree(block);
    }
    queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
  }
}

std::vector<void*> BlockPool::TakeFreeSegments() {
  std::vector<void*> segments;
  for (FreeBlocks* const blocks : {&free_small_, &free_large_}) {
    for (auto it = blocks->begin(); it != blocks->end();) {
      Block* const block = *it;
      if (block->previous != nullptr || block->next != nullptr) {
        ++it;
        continue;
      }
      it = blocks->erase(it);
      segments.push_back(block->data);
      segments_.erase(block->data);
      ++stats_.num_device_free;
      Subtract(&Stats::segment, block->small, 1);
      Subtract(&Stats::reserved_bytes, block->small, block->size);
      retired_.push_back(block);
    }
  }
  return segments;
}

void BlockPool::Add(Stat stat, bool small, std::size_t amount) {
  auto& array = stats_.*stat;
  array[static_cast<std::size_t>(StatType::AGGREGATE)].increase(amount);
  array[static_cast<std::size_t>(small ? StatType::SMALL_POOL : StatType::LARGE_POOL)].increase(
      amount);
}

void BlockPool::Subtract(Stat stat, bool small, std::size_t amount) {
  auto& array = stats_.*stat;
  array[static_cast<std::size_t>(StatType::AGGREGATE)].decrease(amount);
  array[static_cast<std::size_t>(small ? StatType::SMALL_POOL : StatType::LARGE_POOL)].decrease(
      amount);
}

void BlockPool::ThrowOutOfMemory(std::size_t bytes) {
  const auto [free, total] = DeviceMemory(device_);
  const auto stats = Stats();
  const auto current = [](const StatArray& array) {
    return static_cast<std::size_t>(array[static_cast<std::size_t>(StatType::AGGREGATE)].current);
  };
  const std::size_t allocated = current(stats.allocated_bytes);
  const std::size_t reserved = current(stats.reserved_bytes);
  TORCH_CHECK_WITH(OutOfMemoryError, false, "infini out of memory: tried to allocate ",
                   Readable(bytes), " (", bytes, " bytes) on infini:", static_cast<int>(device_),
                   ", which has ", Readable(free), " free of ", Readable(total), "; tensors hold ",
                   Readable(allocated), ", and ", Readable(reserved - allocated),
                   " more are reserved by torch-infini but unused");
}

}  // namespace torch_infini
