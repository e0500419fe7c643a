// Tables that turn handles into objects and recognise handles of destroyed ones.
#ifndef INFINI_RT_CORE_HANDLE_TABLE_H_
#define INFINI_RT_CORE_HANDLE_TABLE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/fork.h"

namespace infini::rt {

/// Owns objects of one kind behind 64-bit identifiers (generation in the upper half, slot number
/// plus one in the lower).
///
/// Look-up takes no lock and is safe against a concurrent removal: `Use` keeps the object from
/// being handed out by `Remove`, which waits for the uses that are under way. Slots are reused,
/// never freed, so a stale identifier always meets a slot and is recognised by its generation.
template <typename T>
class HandleTable {
  struct Slot {
    std::atomic<std::uint32_t> generation{0};  // odd while the slot holds an object
    std::atomic<std::uint32_t> users{0};
    std::unique_ptr<T> object;
  };
  static constexpr std::uint32_t kLastGeneration = 0x7fffffff;
  static constexpr std::size_t kChunkSize = 256;
  static constexpr std::size_t kChunkCount = 4096;
  using Chunk = std::array<Slot, kChunkSize>;

 public:
  /// A look-up that is under way. Empty when the identifier was stale.
  class Use {
   public:
    Use() noexcept = default;
    explicit Use(Slot* slot) noexcept : slot_(slot) {}
    Use(Use&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Use() {
      if (slot_ != nullptr) slot_->users.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    T* operator->() const noexcept { return slot_->object.get(); }
    T& operator*() const noexcept { return *slot_->object; }

   private:
    Slot* slot_ = nullptr;
  };

  HandleTable() { RegisterForkMutex(&mutex_); }

  /// Returns the identifier of `object`, or 0 when the table is full.
  std::uint64_t Insert(std::unique_ptr<T> object) {
    const std::scoped_lock lock(mutex_);
    std::uint32_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (size_ == kChunkSize * kChunkCount) return 0;
      const std::size_t chunk = size_ / kChunkSize;
      free_.reserve(size_ + 1);  // so that `Remove` cannot fail
      if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr) {
        chunks_[chunk].store(new Chunk, std::memory_order_release);
      }
      index = static_cast<std::uint32_t>(size_++);
    }
    Slot& slot = *SlotAt(index);
    slot.object = std::move(object);
    const std::uint32_t generation = slot.generation.load(std::memory_order_relaxed) + 1;
    slot.generation.store(generation, std::memory_order_seq_cst);
    return static_cast<std::uint64_t>(generation) << 32 | (index + 1);
  }

  /// Looks `id` up.
  Use Find(std::uint64_t id) noexcept {
    Slot* const slot = SlotAt(static_cast<std::uint32_t>(id) - 1);
    if (slot == nullptr) return Use();
    slot->users.fetch_add(1, std::memory_order_seq_cst);
    Use use(slot);
    const std::uint32_t generation = static_cast<std::uint32_t>(id >> 32);
    if ((generation & 1u) == 0 || slot->generation.load(std::memory_order_seq_cst) != generation)
      return Use();
    return use;
  }

  /// Takes the object of `id` out, after the uses under way; null when the identifier is stale.
  std::unique_ptr<T> Remove(std::uint64_t id) {
    const std::uint32_t index = static_cast<std::uint32_t>(id) - 1;
    Slot* const slot = SlotAt(index);
    std::uint32_t generation = static_cast<std::uint32_t>(id >> 32);
    if (slot == nullptr || (generation & 1u) == 0 ||
        !slot->generation.compare_exchange_strong(generation, generation + 1,
                                                  std::memory_order_seq_cst)) {
      return nullptr;
    }
    while (slot->users.load(std::memory_order_seq_cst) != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    std::unique_ptr<T> object = std::move(slot->object);
    // The highest bit of an identifier marks default streams, so a slot ends when its generations
    // do.
    if (generation + 2 < kLastGeneration) {
      const std::scoped_lock lock(mutex_);
      free_.push_back(index);
    }
    return object;
  }

  /// Forgets look-ups of threads that a forked child does not have, and calls `function(object)`
  /// for every live object; to be called in the child, whose fork handler holds the table's mutex.
  template <typename Function>
  void ResetInForkedChild(Function function) {
    for (std::size_t index = 0; index < size_; ++index) {
      Slot& slot = *SlotAt(static_cast<std::uint32_t>(index));
      slot.users.store(0, std::memory_order_relaxed);
      if ((slot.generation.load(std::memory_order_relaxed) & 1u) != 0) function(*slot.object);
    }
  }

  /// Calls `function(object)` for every live object.
  template <typename Function>
  void ForEach(Function function) {
    std::size_t size = 0;
    {
      const std::scoped_lock lock(mutex_);
      size = size_;
    }
    for (std::size_t index = 0; index < size; ++index) {
      const std::uint32_t generation = SlotAt(static_cast<std::uint32_t>(index))->generation.load();
      const Use use = Find(static_cast<std::uint64_t>(generation) << 32 | (index + 1));
      if (use) function(*use);
    }
  }

 private:
  Slot* SlotAt(std::uint32_t index) noexcept {
    const std::size_t chunk_index = index / kChunkSize;
    if (chunk_index >= kChunkCount) return nullptr;
    Chunk* const chunk = chunks_[chunk_index].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSize];
  }

  std::mutex mutex_;  // guards `free_`, `size_` and the creation of chunks
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  std::array<std::atomic<Chunk*>, kChunkCount> chunks_{};
};

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_HANDLE_TABLE_H_
