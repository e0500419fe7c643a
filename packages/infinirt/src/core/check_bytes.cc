#include "core/check_bytes.h"

#include <cstdint>
#include <string>

#include "core/thread_state.h"

namespace infini::rt {

void CheckSize(Function function, const Backend& backend, std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(INT64_MAX)) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "size " + std::to_string(bytes) +
             " exceeds 2^63 - 1 bytes; was it computed from a negative number?");
  }
}

void CheckBytes(Function function, const Backend& backend, const char* name, const void* data,
                std::size_t bytes) {
  CheckSize(function, backend, bytes);
  if (bytes == 0) return;
  if (data == nullptr) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         std::string(name) + " is null but its size is " + std::to_string(bytes) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(data) > UINTPTR_MAX - bytes) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         std::string(name) + " plus " + std::to_string(bytes) +
             " bytes passes the end of the address space");
  }
}

}  // namespace infini::rt
