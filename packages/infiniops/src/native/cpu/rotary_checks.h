// What the rotary operators check beyond their declarations.
#ifndef INFINI_OPS_NATIVE_CPU_ROTARY_CHECKS_H_
#define INFINI_OPS_NATIVE_CPU_ROTARY_CHECKS_H_

#include <string>

#include "infini/ops/context.h"

namespace infini::ops::cpu {

/// Throws `Error` unless the columns of `angles` fit the last dimension of `input`, and its dtype
/// is float32 or that of `input`.
inline void CheckAngles(const char* op, const char* name, const TensorView& angles,
                        const TensorView& input) {
  const std::string quoted = "`" + std::string(name) + "`";
  if (angles.dtype() != DataType::kFloat32 && angles.dtype() != input.dtype()) {
    throw Error(ErrorCode::kTypeMismatch, op, input.device().ToString(),
                quoted + " has dtype " + rt::DataTypeName(angles.dtype()) +
                    "; expected float32 or the dtype of `input`, " +
                    rt::DataTypeName(input.dtype()));
  }
  const std::int64_t columns = angles.size(-1);
  if (columns % 2 != 0 || columns > input.size(-1)) {
    throw Error(ErrorCode::kInvalidArgument, op, input.device().ToString(),
                quoted + " has " + std::to_string(columns) +
                    " columns; expected an even number of at most " +
                    std::to_string(input.size(-1)) + ", the last size of `input`");
  }
}

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_ROTARY_CHECKS_H_
