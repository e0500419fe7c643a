#include "native/cpu/indices.h"

#include <string>
#include <vector>

namespace infini::ops::cpu {

Indices MakeIndices(const char* op, const TensorView& view) {
  std::vector<std::int64_t> shape(view.shape().begin(), view.shape().end());
  std::vector<std::int64_t> strides(view.strides().begin(), view.strides().end());
  shape.push_back(1);
  strides.push_back(1);
  const TensorView elements(view.data(), shape, strides, view.dtype(), view.device());
  return {MakeRows(op, elements), view.dtype() == DataType::kInt64};
}

void CheckIndices(const char* op, const char* name, const Indices& indices, std::int64_t least,
                  std::int64_t greatest, const char* range) {
  for (std::int64_t i = 0; i < indices.rows.count; ++i) {
    const std::int64_t value = indices.Get(i);
    if (value >= least && value <= greatest) continue;
    throw Error(ErrorCode::kIndexOutOfRange, op, "",
                "`" + std::string(name) + "` is " + std::to_string(value) + " at element " +
                    std::to_string(i) + "; expected " + std::to_string(least) + " to " +
                    std::to_string(greatest) + " (" + range + ")");
  }
}

void CheckShares(const char* op, const char* name, const float* values, std::int64_t stride,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = values[i * stride];
    if (value >= 0 && value <= 1) continue;
    throw Error(ErrorCode::kInvalidArgument, op, "",
                "`" + std::string(name) + "` is " + std::to_string(value) + " at element " +
                    std::to_string(i) + "; expected 0 to 1");
  }
}

}  // namespace infini::ops::cpu
