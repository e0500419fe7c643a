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

/// The running sums of one row: of floats in double, of integers modulo 2^64.
template <typename T>
void SumRow(const CumsumTask& task, std::int64_t row) {
  const T* from = RowAt<const T>(task.input, row);
  const std::int64_t length = task.input.length;
  const std::int64_t in_stride = task.input.inner_stride;
  const std::int64_t out_stride = task.out.inner_stride;
  if constexpr (std::is_same_v<T, Bool> || std::is_integral_v<T>) {
    auto* to = RowAt<std::int64_t>(task.out, row);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      if constexpr (std::is_same_v<T, Bool>) {
        sum += from[i * in_stride].byte != 0;
      } else {
        sum += static_cast<std::uint64_t>(from[i * in_stride]);
      }
      to[i * out_stride] = static_cast<std::int64_t>(sum);
    }
  } else if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>) {
    T* to = RowAt<T>(task.out, row);
    double sum = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      if constexpr (std::is_same_v<T, Compute<T>>) {
        sum += static_cast<double>(from[i * in_stride]);
        to[i * out_stride] = static_cast<T>(sum);
      } else {
        sum += static_cast<double>(Widen(from[i * in_stride]));
        Narrow(static_cast<float>(sum), to + i * out_stride);
      }
    }
  }
}

void Run(const CumsumTask& task) {
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    ForEachRow(task.input.count, task.input.length,
               [&task](std::int64_t row) { SumRow<T>(task, row); });
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
