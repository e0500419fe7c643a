// Exponentials of rows that sum to one: the task of softmax, log_softmax and causal_softmax.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_SOFTMAX_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_SOFTMAX_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct SoftmaxTask {
  Rows input;
  Rows out;
  bool logarithm;
  std::int64_t queries;  // of each matrix, whose last sees the whole row; 0: all see it
  rt::DataType dtype;
};
INFINI_OPS_CPU_KERNEL(SoftmaxTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues the softmax, or its `logarithm`, along `dim`, which is counted from the front. With
/// `causal`, row q of each matrix of Q rows sees all but the last Q - 1 - q elements.
void LaunchSoftmax(const char* op, const Context& context, const TensorView& input, int dim,
                   bool logarithm, bool causal, const TensorView& out);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/rows.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Calls `vector(index, values)` for the floats at `values`, the last ones filled up with `fill`.
template <typename Vector>
void ForEachVector(const float* values, std::int64_t count, float fill, Vector vector) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) vector(i, Load(values + i));
  if (i == count) return;
  Floats last = Broadcast(fill);
  std::memcpy(&last, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
  vector(i, last);
}

/// Stores the lanes of `value` that stand for elements below `count`.
template <typename T>
void StorePart(Floats value, T* target, std::int64_t index, std::int64_t count) {
  if (index + kLanes <= count) return Store(value, target + index);
  T lanes[kLanes];
  Store(value, lanes);
  std::memcpy(target + index, lanes, static_cast<std::size_t>(count - index) * sizeof(T));
}

/// The greatest of `count` floats; a NaN may be passed over.
inline float Greatest(const float* values, std::int64_t count) {
  Floats most = Broadcast(-__builtin_inff());
  ForEachVector(values, count, -__builtin_inff(),
                [&most](std::int64_t, Floats value) { most = value > most ? value : most; });
  return GreatestLane(most);
}

/// The sum of exp(values - most), in blocks whose sums are added in double. Stores the terms in
/// `terms` unless that is null.
inline double SumOfPowers(const float* values, std::int64_t count, float most, float* terms) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kRowBlock) {
    const std::int64_t length = count - begin < kRowBlock ? count - begin : kRowBlock;
    Floats sum = {};
    ForEachVector(values + begin, length, -__builtin_inff(), [&](std::int64_t i, Floats value) {
      Floats power = Exp(value - most);
      if (i + kLanes > length) {
        // With a greatest element of -inf the lanes past the end are NaN, not 0.
        for (std::int64_t lane = length - i; lane < kLanes; ++lane) power[lane] = 0;
      }
      sum += power;
      if (terms != nullptr) StorePart(power, terms + begin, i, length);
    });
    total += static_cast<double>(SumOfLanes(sum));
  }
  return total;
}

/// The row as floats: in place where it is, else in `scratch`.
template <typename T>
const float* RowAsFloats(const T* row, std::int64_t stride, std::int64_t count, float* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (stride == 1) return row;
    for (std::int64_t i = 0; i < count; ++i) scratch[i] = row[i * stride];
  } else {
    Gather<T>(reinterpret_cast<const char*>(row), stride * static_cast<std::int64_t>(sizeof(T)),
              count, scratch);
  }
  return scratch;
}

template <typename T>
void SoftmaxRow(const SoftmaxTask& task, const T* input, T* out, std::int64_t count) {
  const std::int64_t stride = task.out.inner_stride;
  auto* scratch = static_cast<float*>(
      Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(count) * sizeof(float)));
  const float* values = RowAsFloats(input, task.input.inner_stride, count, scratch);
  const float most = Greatest(values, count);
  float* terms = scratch;
  if constexpr (std::is_same_v<T, float>) {
    if (stride == 1) terms = out;
  }
  const double total = SumOfPowers(values, count, most, task.logarithm ? nullptr : terms);
  const auto scale = static_cast<float>(1 / total);
  const auto logarithm = static_cast<float>(__builtin_log(total));
  ForEachVector(task.logarithm ? values : terms, count, 0, [&](std::int64_t i, Floats value) {
    // Two subtractions: their sum may not be a float.
    const Floats result = task.logarithm ? value - most - logarithm : value * scale;
    if (stride == 1) {
      StorePart(result, out, i, count);
    } else {
      StorePart(result, scratch, i, count);
    }
  });
  if (stride != 1) WriteBlock(scratch, count, out, stride);
}

inline void SoftmaxRow(const SoftmaxTask& task, const double* input, double* out,
                       std::int64_t count) {
  const std::int64_t from = task.input.inner_stride;
  const std::int64_t to = task.out.inner_stride;
  double most = -__builtin_inf();
  for (std::int64_t i = 0; i < count; ++i) most = input[i * from] > most ? input[i * from] : most;
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double distance = input[i * from] - most;
    const double power = __builtin_exp(distance);
    total += power;
    out[i * to] = task.logarithm ? distance : power;
  }
  const double logarithm = __builtin_log(total);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i * to] = task.logarithm ? out[i * to] - logarithm : out[i * to] / total;
  }
}

void Run(const SoftmaxTask& task) {
  VisitFloating(task.dtype, [&]<typename T>(Type<T>) {
    // An exponential costs as much as several plain elements.
    ForEachRow(task.input.count, task.input.length * 4, [&task](std::int64_t row) {
      const T* input = RowAt<const T>(task.input, row);
      T* out = RowAt<T>(task.out, row);
      const std::int64_t length = task.input.length;
      std::int64_t seen = length;
      if (task.queries != 0) seen = length - (task.queries - 1 - row % task.queries);
      if (seen <= 0) {
        // No key is seen: a row of -inf, whose softmax is NaN.
        const T nothing = NotANumber<T>();
        for (std::int64_t i = 0; i < length; ++i) out[i * task.out.inner_stride] = nothing;
        return;
      }
      SoftmaxRow(task, input, out, seen);
      for (std::int64_t i = seen; i < length; ++i) out[i * task.out.inner_stride] = T{};
    });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_SOFTMAX_H_
