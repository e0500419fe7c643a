// The blocks of device memory that the allocator of one device keeps.
//
// Segments come from the device; blocks are parts of segments. The sizes follow
// torch.cuda's allocator: requests up to 1 MiB share 2 MiB segments, requests
// below 10 MiB share 20 MiB segments, larger ones get their own.
#ifndef TORCH_INFINI_RUNTIME_BLOCK_POOL_H_
#define TORCH_INFINI_RUNTIME_BLOCK_POOL_H_

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "runtime/event.h"

namespace torch_infini {

struct Block;

struct BlockOrder {
  bool operator()(const Block* a, const Block* b) const noexcept;
};
using FreeBlocks = std::set<Block*, BlockOrder>;

/// Part of a segment, free or given to a tensor.
struct Block {
  c10::DeviceIndex device = 0;
  c10::StreamId stream = 0;  // whose work may reuse it without an event
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t requested = 0;
  bool allocated = false;
  bool small = false;
  Block* previous = nullptr;  // neighbours in the segment
  Block* next = nullptr;
  int pending_events = 0;
  std::vector<c10::StreamId> used_on;  // streams other than `stream`
  FreeBlocks::node_type node;          // kept while the block is not free
};

class BlockPool {
 public:
  explicit BlockPool(c10::DeviceIndex device) : device_(device) {}

  /// Returns a block of at least `bytes` for work on `stream`. Throws
  /// `torch.OutOfMemoryError` with the figures when the device is full.
  Block* Allocate(std::size_t bytes, c10::StreamId stream);

  /// Takes a block back. Never throws; a block whose use cannot be tracked any
  /// more is not reused.
  void Free(Block* block) noexcept;

  /// Delays the reuse of `block` until the work queued on `stream` when it is
  /// freed is done.
  void RecordStream(Block* block, c10::StreamId stream);

  /// Waits for blocks in use by other streams, then gives every segment that
  /// is wholly free back to the device.
  void ReleaseCached();

  /// Whether `data` lies in a segment of this pool.
  bool Owns(const void* data);

  c10::CachingDeviceAllocator::DeviceStats Stats();
  void ResetAccumulatedStats();
  void ResetPeakStats();

 private:
  using Stat = c10::CachingAllocator::StatArray c10::CachingDeviceAllocator::DeviceStats::*;
  struct Pending {
    PooledEvent event;
    Block* block;
  };

  FreeBlocks& FreeOf(bool small) { return small ? free_small_ : free_large_; }
  Block* TakeFree(std::size_t size, c10::StreamId stream, bool small);
  Block* NewSegment(std::size_t size, c10::StreamId stream, bool small);
  Block* NewBlock();
  void Split(Block* block, std::size_t size);
  void AddFree(Block* block);
  Block* Absorb(Block* block, Block* neighbour);
  void ReuseFinished();
  /// Forgets the segments that are wholly free and returns their addresses.
  std::vector<void*> TakeFreeSegments();
  void Add(Stat stat, bool small, std::size_t amount);
  void Subtract(Stat stat, bool small, std::size_t amount);
  [[noreturn]] void ThrowOutOfMemory(std::size_t bytes);

  const c10::DeviceIndex device_;
  std::mutex mutex_;  // guards all below; never held while waiting
  FreeBlocks free_small_;
  FreeBlocks free_large_;
  std::unordered_map<c10::StreamId, std::deque<Pending>> pending_;
  std::map<const std::byte*, std::size_t> segments_;
  std::deque<Block> blocks_;     // owns every block
  std::vector<Block*> retired_;  // blocks that describe no memory now
  Block search_key_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_BLOCK_POOL_H_
