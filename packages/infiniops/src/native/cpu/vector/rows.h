// What operators over rows share: reading and writing rows of any stride as accumulators.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_H_

#include <infini/rt/parallel.h>

#include <array>
#include <cstring>
#include <iterator>

#include "native/cpu/vector/dtype.h"
#include "native/cpu/vector/elementwise.h"
#include "native/cpu/vector/math.h"

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

/// Where a block of results is computed: in `out` itself where it holds accumulators side by side,
/// else in `buffer`, from which `WriteBlock` takes it.
template <typename T>
Accumulator<T>* ResultBlock(T* out, std::int64_t stride, Accumulator<T>* buffer) {
  if constexpr (std::is_same_v<T, Accumulator<T>>) {
    if (stride == 1) return out;
  }
  return buffer;
}

/// Writes `count` results of `ResultBlock` to `out`.
template <typename T>
void WriteBlock(const Accumulator<T>* results, std::int64_t count, T* out, std::int64_t stride) {
  if constexpr (!std::is_same_v<T, Accumulator<T>>) {
    Scatter<T>(results, count, reinterpret_cast<char*>(out),
               stride * static_cast<std::int64_t>(sizeof(T)));
  } else if (stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i * stride] = results[i];
  }
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
template <typename Real>
using Lanes = typename LanesOf<Real>::type;
/// Lanes of `Lanes<Real>`.
template <typename Real>
inline constexpr auto kWideLanes = static_cast<std::int64_t>(64 / sizeof(Real));

/// A vector of `kCount` elements.
template <typename T, int kCount>
struct VectorOf {
  typedef T type __attribute__((vector_size(kCount * sizeof(T))));
};

/// The sum of `kCount` lanes that start at `lanes`, halves added to halves until one is left.
template <int kCount, typename Real>
double FoldLanes(const Real* lanes) {
  using Half = typename VectorOf<Real, kCount / 2>::type;
  using Sum = typename VectorOf<double, kCount / 2>::type;
  Half halves[2];
  std::memcpy(halves, lanes, sizeof(halves));
  const Sum sum = __builtin_convertvector(halves[0], Sum) + __builtin_convertvector(halves[1], Sum);
  if constexpr (kCount == 4) {
    return sum[0] + sum[1];
  } else {
    return FoldLanes<kCount / 2>(reinterpret_cast<const double*>(&sum));
  }
}

/// `kWideLanes` values as accumulators.
template <typename T>
Lanes<Accumulator<T>> LoadWide(const T* values) {
  using Wide = Lanes<Accumulator<T>>;
  Wide wide;
  if constexpr (std::is_same_v<T, Accumulator<T>>) {
    std::memcpy(&wide, values, sizeof(wide));
  } else {
    Floats parts[sizeof(Wide) / sizeof(Floats)];
    for (std::size_t part = 0; part < std::size(parts); ++part) {
      parts[part] = Load(values + part * kLanes);
    }
    std::memcpy(&wide, parts, sizeof(wide));
  }
  return wide;
}

/// `kSums` sums over `count` values in an order that follows from `count` alone: `add(value, sums)`
/// adds what a vector of values gives to each; the lanes are added in double. It must add zeros for
/// `fill`, which fills up the last vector.
template <int kSums, typename T, typename Add>
std::array<double, kSums> SumsOver(const T* values, std::int64_t count, Add add,
                                   Accumulator<T> fill) {
  using Real = Accumulator<T>;
  using Wide = Lanes<Real>;
  constexpr auto kWidth = kWideLanes<Real>;
  Wide sums[4][kSums] = {};
  std::int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
    for (int k = 0; k < 4; ++k) add(LoadWide(values + i + k * kWidth), sums[k]);
  }
  for (int k = 0; i < count; i += kWidth, ++k) {
    alignas(64) Real last[kWidth];
    for (std::int64_t lane = 0; lane < kWidth; ++lane) last[lane] = fill;
    const std::int64_t rest = count - i < kWidth ? count - i : kWidth;
    if constexpr (std::is_same_v<T, Real>) {
      std::memcpy(last, values + i, static_cast<std::size_t>(rest) * sizeof(Real));
    } else {
      for (std::int64_t lane = 0; lane < rest; ++lane) last[lane] = Widen(values[i + lane]);
    }
    add(LoadWide(last), sums[k]);
  }
  std::array<double, kSums> totals;
  for (std::size_t n = 0; n < kSums; ++n) {
    const Wide sum = (sums[0][n] + sums[1][n]) + (sums[2][n] + sums[3][n]);
    totals[n] = FoldLanes<kWidth>(reinterpret_cast<const Real*>(&sum));
  }
  return totals;
}

/// The sum of `term` of `count` values; `term` of 0 must be 0. See `SumsOver`.
template <typename T, typename Term>
double SumOfTerms(const T* values, std::int64_t count, Term term) {
  return SumsOver<1>(
      values, count, [term](auto value, auto& sums) { sums[0] += term(value); }, 0)[0];
}

/// The sum of squares of `count` values, at most `kRowBlock`.
template <typename Real>
double SumOfSquares(const Real* values, std::int64_t count) {
  return SumOfTerms(values, count, [](auto value) { return value * value; });
}

/// The sum of `count` values, at most `kRowBlock`.
template <typename T>
double SumOf(const T* values, std::int64_t count) {
  return SumOfTerms(values, count, [](auto value) { return value; });
}

/// A NaN.
template <typename T>
T NotANumber() {
  if constexpr (std::is_same_v<T, Accumulator<T>>) {
    return static_cast<T>(__builtin_nan(""));
  } else {
    T result;
    Narrow(__builtin_nanf(""), &result);
    return result;
  }
}

/// Calls `function(Type<T>())` for the floating `dtype`.
template <typename Function>
void VisitFloating(rt::DataType dtype, Function function) {
  switch (dtype) {
    case rt::DataType::kFloat32:
      return function(Type<float>());
    case rt::DataType::kBFloat16:
      return function(Type<BFloat16>());
    case rt::DataType::kFloat16:
      return function(Type<Float16>());
    default:
      return function(Type<double>());
  }
}

/// Calls `visitor(Type<T>())` with the storage type of `dtype`: a float of 16 or 32 bits.
template <typename Visitor>
void VisitFloatDtype(rt::DataType dtype, Visitor visitor) {
  switch (dtype) {
    case rt::DataType::kFloat16:
      return visitor(Type<Float16>());
    case rt::DataType::kBFloat16:
      return visitor(Type<BFloat16>());
    default:
      return visitor(Type<float>());
  }
}

/// Calls `row(index)` for every row, on several threads where there is work for them.
template <typename Row>
void ForEachRow(std::int64_t rows, std::int64_t length, Row row) {
  const std::int64_t grain = kElementGrain / 2 / (length > 0 ? length : 1);
  rt::ParallelFor(rows, grain > 0 ? grain : 1, [&row](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) row(index);
  });
}

/// The address of row `index`.
template <typename T>
INFINI_OPS_INLINE T* RowAt(const Rows& rows, std::int64_t index) {
  return reinterpret_cast<T*>(rows.data) + rows.Offset(index);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ROWS_H_
