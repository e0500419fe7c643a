// Checks of sizes and addresses that functions share.
#ifndef INFINI_RT_CORE_CHECK_BYTES_H_
#define INFINI_RT_CORE_CHECK_BYTES_H_

#include <cstddef>

#include "core/backend.h"

namespace infini::rt {

/// Throws `Error` when `bytes` passes 2^63 - 1, as a negative number turned unsigned does.
void CheckSize(Function function, const Backend& backend, std::size_t bytes);

/// As `CheckSize`; also throws when there are bytes but `data`, which the message calls `name`, is
/// null, or when they would pass the end of the address space.
void CheckBytes(Function function, const Backend& backend, const char* name, const void* data,
                std::size_t bytes);

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_CHECK_BYTES_H_
