#include "native/cpu/contents.h"

#include "infini/ops/context.h"

namespace infini::ops::cpu {

void ThrowZeroDivisor(const char* op) {
  throw Error(ErrorCode::kInvalidArgument, op, "",
              "`other` has an integer element that is zero; no integer is its quotient");
}

}  // namespace infini::ops::cpu
