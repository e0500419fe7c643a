// cumsum for the CPU: see src/base/cumsum.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_CUMSUM_H_
#define INFINI_OPS_NATIVE_CPU_OPS_CUMSUM_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct CumsumTask {
  Rows input;
  Rows out;
  rt::DataType dtype;  // of the input
};
INFINI_OPS_CPU_KERNEL(CumsumTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/rows.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// The running sums of a row of integers, modulo 2^64.
template <typename T>
void SumRow(const CumsumTask& task, std::int64_t row) {
  const T* from = RowAt<const T>(task.input, row);
  auto* to = RowAt<std::int64_t>(task.out, row);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < task.input.length; ++i) {
    const T value = from[i * task.input.inner_stride];
    if constexpr (std::is_same_v<T, Bool>) {
      sum += value.byte != 0;
    } else {
      sum += static_cast<std::uint64_t>(value);
    }
    to[i * task.out.inner_stride] = static_cast<std::int64_t>(sum);
  }
}

/// The running sums of `kRows` rows of floats, in double. Those of a row wait for each other, so
/// several rows take hardly longer than one.
template <typename T, int kRows>
void SumRows(const CumsumTask& task, std::int64_t row) {
  const T* from[kRows];
  T* to[kRows];
  double sums[kRows] = {};
  for (int r = 0; r < kRows; ++r) {
    from[r] = RowAt<const T>(task.input, row + r);
    to[r] = RowAt<T>(task.out, row + r);
  }
  for (std::int64_t i = 0; i < task.input.length; ++i) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const T value = from[r][i * task.input.inner_stride];
      T* target = to[r] + i * task.out.inner_stride;
      if constexpr (std::is_same_v<T, Compute<T>>) {
        sums[r] += static_cast<double>(value);
        *target = static_cast<T>(sums[r]);
      } else {
        sums[r] += static_cast<double>(Widen(value));
        Narrow(static_cast<float>(sums[r]), target);
      }
    }
  }
}

/// Rows of floats that are summed at the same time. Those of 16 bits keep the processor busy with
/// their rounding, and long ones lie in each other's way.
template <typename T>
inline constexpr int kRowsTogether = sizeof(T) == 2 ? 1 : 4;

void Run(const CumsumTask& task) {
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    if constexpr (std::is_same_v<T, Bool> || std::is_integral_v<T>) {
      ForEachRow(task.input.count, task.input.length,
                 [&task](std::int64_t row) { SumRow<T>(task, row); });
    } else if constexpr (!std::is_same_v<T, Complex<float>> &&
                         !std::is_same_v<T, Complex<double>>) {
      constexpr int kRows = kRowsTogether<T>;
      const std::int64_t groups = (task.input.count + kRows - 1) / kRows;
      ForEachRow(groups, task.input.length * kRows, [&task](std::int64_t group) {
        const std::int64_t row = group * kRows;
        const std::int64_t end = row + kRows < task.input.count ? row + kRows : task.input.count;
        if (end - row == kRows) return SumRows<T, kRows>(task, row);
        for (std::int64_t one = row; one < end; ++one) SumRows<T, 1>(task, one);
      });
    }
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "core/check.h"
#include "infini/ops/base/cumsum.h"
#include "native/cpu/view.h"

namespace infini::ops {

template <>
struct Operator<Cumsum, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, std::int64_t dim,
                   const TensorView& out) {
    if (out.numel() == 0) return;
    const int along = internal::WrapDim(dim, input.rank());
    const cpu::CumsumTask task = {
        .input = cpu::MakeRows(Cumsum::kOperator, cpu::WithLast(input, along)),
        .out = cpu::MakeRows(Cumsum::kOperator, cpu::WithLast(out, along)),
        .dtype = input.dtype()};
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_CUMSUM_H_
