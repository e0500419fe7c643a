#include "core/cache.h"

#include "native/cpu/scratch.h"

namespace infini::ops {
namespace internal {

/// The caches of the calling thread, the newest one first.
struct CacheList {
  static CacheBase*& First() noexcept {
    thread_local CacheBase* first = nullptr;
    return first;
  }
  static CacheBase*& Next(CacheBase* cache) noexcept { return cache->next_; }
};

CacheBase::CacheBase() noexcept : next_(CacheList::First()) { CacheList::First() = this; }

CacheBase::~CacheBase() {
  CacheBase** link = &CacheList::First();
  while (*link != this) link = &CacheList::Next(*link);
  *link = next_;
}

}  // namespace internal

std::vector<CacheInfo> GetCacheInfo() {
  std::vector<CacheInfo> infos;
  for (auto* cache = internal::CacheList::First(); cache != nullptr;
       cache = internal::CacheList::Next(cache)) {
    infos.insert(infos.begin(), cache->Info());
  }
  return infos;
}

void ClearCache() noexcept {
  for (auto* cache = internal::CacheList::First(); cache != nullptr;
       cache = internal::CacheList::Next(cache)) {
    cache->Clear();
  }
  cpu::ReleaseScratch();
}

}  // namespace infini::ops
