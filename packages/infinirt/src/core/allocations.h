// The live allocations of the process, so that freeing anything else is an error instead of a
// crash.
#ifndef INFINI_RT_CORE_ALLOCATIONS_H_
#define INFINI_RT_CORE_ALLOCATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/backend.h"
#include "core/fork.h"

namespace infini::rt {

/// What is known about one allocation.
struct Allocation {
  const Backend* backend;
  int device;
  std::size_t bytes;
  bool on_host = false;         // from `MallocHost`
  bool stream_ordered = false;  // from a backend's `malloc_async`
};

/// A map from address to allocation, split so that threads seldom meet.
class Allocations {
 public:
  static Allocations& Instance() {
    static Allocations* const instance = new Allocations;  // used until the process ends
    return *instance;
  }

  void Insert(const void* data, const Allocation& allocation) {
    Shard& shard = ShardOf(data);
    const std::scoped_lock lock(shard.mutex);
    shard.map.emplace(data, allocation);
  }

  /// An allocation taken out of the map; empty when there was none.
  using Taken = std::unordered_map<const void*, Allocation>::node_type;

  /// Removes and returns the allocation at `data` if `backend` made it on that side; otherwise
  /// changes nothing.
  Taken Take(const void* data, const Backend& backend, bool on_host) {
    Shard& shard = ShardOf(data);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.map.find(data);
    if (found == shard.map.end() || found->second.backend != &backend ||
        found->second.on_host != on_host) {
      return Taken();
    }
    return shard.map.extract(found);
  }

  /// Puts back what `Take` returned, without a new allocation.
  void PutBack(Taken taken) {
    Shard& shard = ShardOf(taken.key());
    const std::scoped_lock lock(shard.mutex);
    shard.map.insert(std::move(taken));
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const void*, Allocation> map;
  };

  Allocations() {
    for (Shard& shard : shards_) RegisterForkMutex(&shard.mutex);
  }

  Shard& ShardOf(const void* data) {
    // Allocations are aligned to 64 bytes or more, so the low bits say nothing.
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return shards_[(address >> 6 ^ address >> 12) % shards_.size()];
  }

  std::array<Shard, 16> shards_;
};

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_ALLOCATIONS_H_
