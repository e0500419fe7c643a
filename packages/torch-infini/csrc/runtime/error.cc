#include "runtime/error.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace torch_infini {

void ThrowAsTorchError(const infini::rt::Error& error) {
  const std::string_view name = infini::rt::GetErrorCodeInfo(error.code()).torch_class;
  if (name == "IndexError") C10_THROW_ERROR(IndexError, error.what());
  if (name == "OutOfMemoryError") {
    C10_THROW_ERROR(OutOfMemoryError, error.what());
  }
  if (name == "NotImplementedError") {
    C10_THROW_ERROR(NotImplementedError, error.what());
  }
  // RuntimeError, and whatever a newer table names.
  C10_THROW_ERROR(Error, error.what());
}

}  // namespace torch_infini
