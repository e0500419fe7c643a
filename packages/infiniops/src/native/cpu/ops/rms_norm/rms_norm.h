// rms_norm for the CPU: see src/base/rms_norm.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct RmsNormTask {
  Rows input;
  Rows out;
  const char* weight;  // null: all 1
  std::int64_t weight_stride;
  double eps;
  rt::DataType dtype;
};
INFINI_OPS_CPU_KERNEL(RmsNormTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include <cmath>
#include <cstring>

#include "native/cpu/vector/dtype.h"
#include "native/cpu/vector/elementwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Elements of a row that are read at a time.
inline constexpr std::int64_t kRowBlock = 1024;

/// float64 is accumulated in itself, everything else in float32.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Returns `count` elements as accumulators: in place where they already are,
/// else in `buffer`.
template <typename T>
const Accumulator<T>* ReadBlock(const T* values, std::int64_t stride, std::int64_t count,
                                Accumulator<T>* buffer) {
  if constexpr (std::is_same_v<T, Accumulator<T>>) {
    if (stride == 1) return values;
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = values[i * stride];
  } else {
    Gather<T>(reinterpret_cast<const char*>(values), stride * static_cast<std::int64_t>(sizeof(T)),
              count, buffer);
  }
  return buffer;
}

/// 64 bytes of accumulators, whatever the instruction set: the order of
/// additions, and so the result, is the same for all.
template <typename Real>
struct LanesOf;
template <>
struct LanesOf<float> {
  using type = float __attribute__((vector_size(64)));
};
template <>
struct LanesOf<double> {
  using type = double __attribute__((vector_size(64)));
};

/// The sum of squares of `count` values, at most `kRowBlock`, in an order that
/// follows from `count` alone; the lanes are added in double.
template <typename Real>
double SumOfSquares(const Real* values, std::int64_t count) {
  using Lanes = typename LanesOf<Real>::type;
  constexpr auto kWidth = static_cast<std::int64_t>(64 / sizeof(Real));
  Lanes sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
    for (int k = 0; k < 4; ++k) {
      Lanes value;
      std::memcpy(&value, values + i + k * kWidth, sizeof(value));
      sums[k] += value * value;
    }
  }
  for (int k = 0; i < count; i += kWidth, ++k) {
    Lanes value = {};
    const std::int64_t rest = count - i < kWidth ? count - i : kWidth;
    std::memcpy(&value, values + i, static_cast<std::size_t>(rest) * sizeof(Real));
    sums[k] += value * value;
  }
  const Lanes sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (int lane = 0; lane < kWidth; ++lane) {
    total += static_cast<double>(sum[lane]);
  }
  return total;
}

template <typename T>
void NormalizeRow(const RmsNormTask& task, std::int64_t row) {
  using Real = Accumulator<T>;
  const std::int64_t length = task.input.length;
  const std::int64_t in_stride = task.input.inner_stride;
  const std::int64_t out_stride = task.out.inner_stride;
  const T* input = reinterpret_cast<const T*>(task.input.data) + task.input.Offset(row);
  T* out = reinterpret_cast<T*>(task.out.data) + task.out.Offset(row);
  const T* weight = reinterpret_cast<const T*>(task.weight);
  alignas(64) Real buffer[kRowBlock];
  alignas(64) Real factors[kRowBlock];

  double total = 0;
  for (std::int64_t begin = 0; begin < length; begin += kRowBlock) {
    const std::int64_t count = length - begin < kRowBlock ? length - begin : kRowBlock;
    total += SumOfSquares(ReadBlock(input + begin * in_stride, in_stride, count, buffer), count);
  }
  const double mean = total / static_cast<double>(length);
  const auto scale = static_cast<Real>(1 / std::sqrt(mean + task.eps));

  for (std::int64_t begin = 0; begin < length; begin += kRowBlock) {
    const std::int64_t count = length - begin < kRowBlock ? length - begin : kRowBlock;
    const Real* values = ReadBlock(input + begin * in_stride, in_stride, count, buffer);
    Real* results = buffer;
    if constexpr (std::is_same_v<T, Real>) {
      if (out_stride == 1) results = out + begin;
    }
    if (weight == nullptr) {
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) results[i] = values[i] * scale;
    } else {
      const Real* factor =
          ReadBlock(weight + begin * task.weight_stride, task.weight_stride, count, factors);
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) {
        results[i] = values[i] * scale * factor[i];
      }
    }
    if constexpr (!std::is_same_v<T, Real>) {
      Scatter<T>(results, count, reinterpret_cast<char*>(out + begin * out_stride),
                 out_stride * static_cast<std::int64_t>(sizeof(T)));
    } else if (out_stride != 1) {
      for (std::int64_t i = 0; i < count; ++i) {
        out[(begin + i) * out_stride] = results[i];
      }
    }
  }
}

void Run(const RmsNormTask& task) {
  const std::int64_t per_thread = kElementGrain / 2 / task.input.length;
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    if constexpr (std::is_same_v<Compute<T>, float> || std::is_same_v<T, double>) {
      rt::ParallelFor(task.input.count, per_thread > 0 ? per_thread : 1,
                      [&task](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          NormalizeRow<T>(task, row);
                        }
                      });
    }
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/rms_norm.h"

namespace infini::ops {

template <>
struct Operator<RmsNorm, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<TensorView>& weight, double eps, const TensorView& out) {
    if (out.numel() == 0) return;
    cpu::RmsNormTask task;
    task.input = cpu::MakeRows(RmsNorm::kOperator, input);
    task.out = cpu::MakeRows(RmsNorm::kOperator, out);
    task.weight = nullptr;
    task.weight_stride = 1;
    if (weight) {
      task.weight = static_cast<const char*>(cpu::TaskAddress(*weight));
      if (weight->size(0) != 1) task.weight_stride = weight->stride(0);
    }
    task.eps = eps;
    task.dtype = out.dtype();
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RMS_NORM_H_
