// What calls leave behind to be faster the next time: how much it is, and how to drop it.
#ifndef INFINI_OPS_CACHE_H_
#define INFINI_OPS_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "infini/ops/abi.h"

namespace infini::ops {

/// One cache of the calling thread. Each keeps what it was last asked for, at most `capacity`
/// entries, and finds an entry by everything that it depends on.
struct CacheInfo {
  const char* name;      ///< What is kept, as "selection".
  std::uint64_t hits;    ///< Look-ups that found an entry.
  std::uint64_t misses;  ///< Look-ups that had to make one.
  std::size_t size;      ///< Entries that are kept now.
  std::size_t capacity;  ///< Entries that are kept at most.
};

/// Returns the caches that calls of this thread have used so far.
INFINI_OPS_EXPORT std::vector<CacheInfo> GetCacheInfo();

/// Empties the caches of the calling thread, sets their counts to zero and frees its scratch
/// memory. What runs on other threads keeps theirs.
INFINI_OPS_EXPORT void ClearCache() noexcept;

}  // namespace infini::ops

#endif  // INFINI_OPS_CACHE_H_
