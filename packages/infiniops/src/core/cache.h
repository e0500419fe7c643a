// Bounded caches of what a call has to prepare: plans, handles, resolved choices.
//
// A cache belongs to one thread, so that it needs no lock and nothing in it is shared:
//
//     thread_local Cache<Key, Value, KeyHash> cache("plans");
//     const Value& plan = cache.Get(key, [&] { return MakePlan(key); });
//
// A key holds everything that the value depends on, and is compared as a whole: two keys with one
// hash are two entries. What differs from call to call without changing the value (addresses,
// seeds, lengths) is no part of a key, and nothing is kept that depends on a tensor's contents.
#ifndef INFINI_OPS_CORE_CACHE_H_
#define INFINI_OPS_CORE_CACHE_H_

#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

#include "infini/ops/cache.h"

namespace infini::ops::internal {

/// A cache as `GetCacheInfo` and `ClearCache` see it; it is listed for its thread while it lives.
class CacheBase {
 public:
  CacheBase(const CacheBase&) = delete;
  CacheBase& operator=(const CacheBase&) = delete;

  virtual CacheInfo Info() const noexcept = 0;
  virtual void Clear() noexcept = 0;

 protected:
  CacheBase() noexcept;
  virtual ~CacheBase();

 private:
  friend struct CacheList;
  CacheBase* next_;
};

inline constexpr std::size_t kCacheCapacity = 256;

/// The values that were last asked for, by their keys. `Hash` and `Equal` may take other types than
/// `Key` (then both have `is_transparent`), as views of a key's strings.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class Cache final : public CacheBase {
 public:
  explicit Cache(const char* name, std::size_t capacity = kCacheCapacity) noexcept
      : name_(name), capacity_(capacity) {}

  /// Returns the value of `key`, valid until the next call; `make()` gives one that is not there.
  /// What `make` throws passes through, and the cache stays as it was.
  template <class Like, class Make>
  const Value& Get(const Like& key, Make&& make) {
    const auto found = places_.find(key);
    if (found != places_.end()) {
      ++hits_;
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
    ++misses_;
    Value value = std::forward<Make>(make)();
    entries_.emplace_front(Key(key), std::move(value));
    try {
      places_.emplace(entries_.front().first, entries_.begin());
    } catch (...) {
      entries_.pop_front();
      throw;
    }
    if (entries_.size() > capacity_) {
      places_.erase(places_.find(entries_.back().first));
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  CacheInfo Info() const noexcept override {
    return {name_, hits_, misses_, entries_.size(), capacity_};
  }
  void Clear() noexcept override {
    places_.clear();
    entries_.clear();
    hits_ = misses_ = 0;
  }

 private:
  using Entries = std::list<std::pair<Key, Value>>;  // the last used one first

  const char* name_;
  std::size_t capacity_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator, Hash, Equal> places_;
};

}  // namespace infini::ops::internal

#endif  // INFINI_OPS_CORE_CACHE_H_
