// Products with weights of few bits for the CPU: the kernel of linear_int8 and linear_int4.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_QUANTIZED_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_QUANTIZED_H_

#include <infini/rt/data_type.h>

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// Numbers per row or group of a weight; strides count elements.
struct GroupNumbers {
  const char* data;  // float32; null: there are none
  std::int64_t row_stride;
  std::int64_t group_stride;
};

/// out = x * transpose(weight) + bias, where the weight is int8 with a scale for each row, or uint8
/// pairs of 4-bit numbers with a scale and a zero for each group.
struct QuantizedTask {
  /// What is rounded before it is multiplied: nothing; each row of x, to 8 bits; 4-bit weights once
  /// scaled, to bfloat16, where x has it and there are many rows.
  enum class Rounding { kNone, kX, kWeight };

  Rows x;
  Rows out;
  const char* weight;
  std::int64_t weight_row_stride;    // bytes
  std::int64_t weight_group_stride;  // bytes; of 4-bit weights alone
  std::int64_t weight_inner_stride;  // bytes
  std::int64_t group;                // numbers in a group; 0: int8 rows
  GroupNumbers scale;
  GroupNumbers zero;
  const char* bias;  // null: none
  std::int64_t bias_stride;
  rt::DataType dtype;  // of x, bias and out
  Rounding rounding;
};
INFINI_OPS_CPU_BF16_KERNEL(QuantizedTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/dtype.h"
#include "native/cpu/vector/quantized.h"
#include "native/cpu/vector/rounded.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename T>
void RunQuantized(const QuantizedTask& task) {
  if (task.rounding == QuantizedTask::Rounding::kX) {
    RoundedProduct<T>(task).Run();
  } else {
    QuantizedProduct<T>(task).Run();
  }
}

void Run(const QuantizedTask& task) {
  switch (task.dtype) {
    case rt::DataType::kFloat32:
      return RunQuantized<float>(task);
    case rt::DataType::kFloat16:
      return RunQuantized<Float16>(task);
    default:
      return RunQuantized<BFloat16>(task);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <optional>

namespace infini::ops::cpu {

/// Queues `x` times the transpose of `weight`, int8 of shape [Out, In], each row times its `scale`,
/// plus `bias`.
void LaunchInt8(const char* op, const Context& context, const TensorView& x,
                const TensorView& weight, const TensorView& scale,
                const std::optional<TensorView>& bias, QuantizedTask::Rounding rounding,
                const TensorView& out);

/// The same for 4-bit numbers of shape [Out, groups, bytes], each less the `zero` of its group (8
/// without one) and times its `scale`. Throws `Error` (invalid argument) when they are not as many
/// as the last dimension of `x` has elements.
void LaunchInt4(const char* op, const Context& context, const TensorView& x,
                const TensorView& weight, const TensorView& scale,
                const std::optional<TensorView>& zero, const std::optional<TensorView>& bias,
                QuantizedTask::Rounding rounding, const TensorView& out);

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_QUANTIZED_H_
