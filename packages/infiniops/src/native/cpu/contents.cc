#include "native/cpu/contents.h"

#include <string>

#include "infini/ops/context.h"

namespace infini::ops::cpu {

void ThrowZeroDivisor(const char* op) {
  throw Error(ErrorCode::kInvalidArgument, op, "",
              "`other` has an integer element that is zero; no integer is its quotient");
}

void ThrowIndexOutside(const char* op, const char* name, std::int64_t position, std::int64_t value,
                       const char* of, std::int64_t dim, std::int64_t size) {
  throw Error(ErrorCode::kInvalidArgument, op, "",
              "`" + std::string(name) + "` has " + std::to_string(value) + " at position " +
                  std::to_string(position) + "; expected 0 to " + std::to_string(size - 1) +
                  ", since dimension " + std::to_string(dim) + " of `" + std::string(of) +
                  "` has size " + std::to_string(size));
}

}  // namespace infini::ops::cpu
