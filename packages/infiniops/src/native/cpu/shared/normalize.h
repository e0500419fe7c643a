// Normalisation of rows: the task that rms_norm, layer_norm and their sums with a residual fill.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_NORMALIZE_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_NORMALIZE_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

#ifndef INFINI_OPS_CPU_ISA
#include <optional>
#endif

namespace infini::ops::cpu {

/// A factor or summand of each column.
struct Columns {
  const char* data;  // null: none
  std::int64_t stride;
};

struct NormalizeTask {
  Rows input;
  Rows other;  // its data is null: nothing is added
  Rows sum;    // of input and other, rounded; where there is one
  Rows out;
  Columns weight;
  Columns bias;
  bool centered;  // the mean is subtracted
  double eps;
  rt::DataType dtype;
};
INFINI_OPS_CPU_BF16_KERNEL(NormalizeTask);

#ifndef INFINI_OPS_CPU_ISA

/// The tensors of a normalisation; the pointers may be null.
struct NormalizeViews {
  const TensorView& input;
  const TensorView* other;
  const TensorView* sum;  // given with `other`
  const TensorView& out;
};

/// Queues out = (x - mean) / sqrt(variance + eps) * weight + bias for each row x of the input, or
/// of its rounded sum with `other`. Without `centered` the mean counts as 0.
void LaunchNormalize(const char* op, const Context& context, const NormalizeViews& views,
                     const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
                     bool centered, double eps);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/rows.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// From how many elements the mean of a row is guessed first.
inline constexpr std::int64_t kGuessedFrom = 64;

/// Writes the rounded sum of a row of two inputs.
template <typename T>
void AddRow(const NormalizeTask& task, std::int64_t row) {
  using Real = Accumulator<T>;
  const T* a = RowAt<const T>(task.input, row);
  const T* b = RowAt<const T>(task.other, row);
  T* sum = RowAt<T>(task.sum, row);
  alignas(64) Real left[kRowBlock];
  alignas(64) Real right[kRowBlock];
  for (std::int64_t begin = 0; begin < task.input.length; begin += kRowBlock) {
    const std::int64_t rest = task.input.length - begin;
    const std::int64_t count = rest < kRowBlock ? rest : kRowBlock;
    const std::int64_t a_stride = task.input.inner_stride;
    const std::int64_t b_stride = task.other.inner_stride;
    const Real* x = ReadBlock(a + begin * a_stride, a_stride, count, left);
    const Real* y = ReadBlock(b + begin * b_stride, b_stride, count, right);
    const std::int64_t stride = task.sum.inner_stride;
    Real* result = ResultBlock(sum + begin * stride, stride, left);
    INFINI_OPS_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = x[i] + y[i];
    WriteBlock(result, count, sum + begin * stride, stride);
  }
}

/// Writes distance(value) * scale * weight + bias for whole vectors of elements that lie side by
/// side, and returns how many elements they are; `weight` and `bias` may be null.
template <typename T, typename Distance>
std::int64_t ScaleVectors(const T* values, std::int64_t length, Distance distance,
                          Accumulator<T> scale, const T* weight, const T* bias, T* out) {
  using Vector = decltype(Load(values));
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(Vector) / sizeof(Accumulator<T>));
  const auto run = [&](auto finish) {
    std::int64_t i = 0;
    for (; i + kWidth <= length; i += kWidth) {
      Store(finish(distance(Load(values + i)) * scale, i), out + i);
    }
    return i;
  };
  if (weight != nullptr && bias != nullptr) {
    return run([&](Vector v, std::int64_t i) { return v * Load(weight + i) + Load(bias + i); });
  }
  if (weight != nullptr) {
    return run([&](Vector v, std::int64_t i) { return v * Load(weight + i); });
  }
  if (bias != nullptr) {
    return run([&](Vector v, std::int64_t i) { return v + Load(bias + i); });
  }
  return run([](Vector v, std::int64_t) { return v; });
}

template <typename T>
void NormalizeRow(const NormalizeTask& task, std::int64_t row) {
  using Real = Accumulator<T>;
  if (task.other.data != nullptr) AddRow<T>(task, row);
  const Rows& rows = task.other.data != nullptr ? task.sum : task.input;
  const std::int64_t length = rows.length;
  const std::int64_t in_stride = rows.inner_stride;
  const std::int64_t out_stride = task.out.inner_stride;
  const T* input = RowAt<const T>(rows, row);
  T* out = RowAt<T>(task.out, row);
  alignas(64) Real buffer[kRowBlock];
  alignas(64) Real factors[kRowBlock];
  const auto each_block = [&](std::int64_t first, auto block) {
    for (std::int64_t begin = first; begin < length; begin += kRowBlock) {
      block(begin, length - begin < kRowBlock ? length - begin : kRowBlock);
    }
  };
  const auto read = [&](std::int64_t begin, std::int64_t count) {
    return ReadBlock(input + begin * in_stride, in_stride, count, buffer);
  };
  // Writes what `distance` makes of each element, divided by the root of `variance` + eps.
  const auto write = [&](double variance, auto distance) {
    const auto scale = static_cast<Real>(1 / __builtin_sqrt(variance + task.eps));
    const auto side_by_side = [](const Columns& columns) {
      return columns.data == nullptr || columns.stride == 1;
    };
    std::int64_t done = 0;
    if (in_stride == 1 && out_stride == 1 && side_by_side(task.weight) && side_by_side(task.bias)) {
      done = ScaleVectors<T>(input, length, distance, scale,
                             reinterpret_cast<const T*>(task.weight.data),
                             reinterpret_cast<const T*>(task.bias.data), out);
    }
    each_block(done, [&](std::int64_t begin, std::int64_t count) {
      const Real* values = read(begin, count);
      Real* results = ResultBlock(out + begin * out_stride, out_stride, buffer);
      const auto column = [&](const Columns& columns) {
        return ReadBlock(reinterpret_cast<const T*>(columns.data) + begin * columns.stride,
                         columns.stride, count, factors);
      };
      if (task.weight.data == nullptr) {
        INFINI_OPS_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) results[i] = distance(values[i]) * scale;
      } else {
        const Real* factor = column(task.weight);
        INFINI_OPS_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) {
          results[i] = distance(values[i]) * scale * factor[i];
        }
      }
      if (task.bias.data != nullptr) {
        const Real* summand = column(task.bias);
        INFINI_OPS_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) results[i] += summand[i];
      }
      WriteBlock(results, count, out + begin * out_stride, out_stride);
    });
  };
  // Elements that lie side by side are summed where they are, whatever their type.
  const auto each_sum = [&](auto add_sum_of) {
    each_block(0, [&](std::int64_t begin, std::int64_t count) {
      if (in_stride == 1) {
        add_sum_of(input + begin, count);
      } else {
        add_sum_of(read(begin, count), count);
      }
    });
  };
  const auto size = static_cast<double>(length);

  if (!task.centered) {
    double squares = 0;
    each_sum(
        [&](const auto* values, std::int64_t count) { squares += SumOfSquares(values, count); });
    return write(squares / size, [](auto value) { return value; });
  }
  // The mean is the sum of two numbers of a row's type: what a single one is off by, divided by a
  // small deviation, would show. It is found from distances to a guess, which are small where the
  // deviation is, and then exact.
  const auto moments_about = [&](Real center) {
    std::array<double, 2> moments = {};
    each_sum([&](const auto* values, std::int64_t count) {
      const auto part = SumsOver<2>(
          values, count,
          [center](auto value, auto& sums) {
            const auto distance = value - center;
            sums[0] += distance;
            sums[1] += distance * distance;
          },
          center);
      moments[0] += part[0] / size;
      moments[1] += part[1] / size;
    });
    return moments;
  };
  const std::int64_t few = length < kGuessedFrom ? length : kGuessedFrom;
  const double of_few = in_stride == 1 ? SumOf(input, few) : SumOf(read(0, few), few);
  const auto guess = static_cast<Real>(of_few / static_cast<double>(few));
  const auto [off, spread] = moments_about(guess);
  const auto mean = static_cast<Real>(static_cast<double>(guess) + off);
  double rest = static_cast<double>(guess) - static_cast<double>(mean) + off;
  double variance = spread - off * off;
  // A guess that was far off leaves the difference of large numbers.
  if (off * off > spread / 4) {
    const auto [correction, square] = moments_about(mean);
    rest = correction;
    variance = square - correction * correction;
  }
  if (variance < 0) variance = 0;  // by rounding, of equal numbers
  write(variance,
        [mean, last = static_cast<Real>(rest)](auto value) { return value - mean - last; });
}

void Run(const NormalizeTask& task) {
  VisitFloating(task.dtype, [&]<typename T>(Type<T>) {
    ForEachRow(task.input.count, task.input.length,
               [&task](std::int64_t row) { NormalizeRow<T>(task, row); });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_NORMALIZE_H_
