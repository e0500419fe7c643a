// linear for the CPU: see src/base/linear.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_
#define INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct LinearTask {
  Rows input;
  Rows weight;
  Rows out;
  const char* bias;  // null: none
  std::int64_t bias_stride;
  rt::DataType dtype;
};
INFINI_OPS_CPU_MATRIX_KERNEL(LinearTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include "native/cpu/vector/dtype.h"
#include "native/cpu/vector/matrix.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

inline float ToFloat(float value) { return value; }
inline float ToFloat(BFloat16 value) { return Widen(value); }
inline void FromFloat(float value, float* result) { *result = value; }
inline void FromFloat(float value, BFloat16* result) { Narrow(value, result); }

/// Multiply-adds that are worth a thread of their own.
inline constexpr std::int64_t kMatrixGrain = 64 * 1024;
/// Bytes of the weight that stay in the second-level cache.
inline constexpr std::int64_t kWeightBlockBytes = 256 * 1024;
/// Rows of the input that are multiplied with one block of the weight.
inline constexpr std::int64_t kInputBlockRows = 96;

/// Copies the rows [begin, end) so that each is contiguous.
template <typename T>
void PackRows(const Rows& rows, std::int64_t begin, std::int64_t end, T* packed) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* values = reinterpret_cast<const T*>(rows.data) + rows.Offset(row);
    for (std::int64_t i = 0; i < rows.length; ++i) {
      *packed++ = values[i * rows.inner_stride];
    }
  }
}

/// The block of outputs [row, row_end) x [column, column_end).
struct OutputBlock {
  std::int64_t row;
  std::int64_t row_end;
  std::int64_t column;
  std::int64_t column_end;
};

/// A matrix product of one element type.
template <typename T>
class Product {
 public:
  explicit Product(const LinearTask& task) : task_(task) {
    if (task.input.inner_stride != 1) {
      const auto bytes = static_cast<std::size_t>(task.input.count * task.input.length) * sizeof(T);
      packed_input_ = static_cast<T*>(Scratch(ScratchPurpose::kShared, bytes));
      PackRows(task.input, 0, task.input.count, packed_input_);
    }
  }

  void Run() const {
    const std::int64_t rows = task_.input.count;
    const std::int64_t columns = task_.weight.count;
    const std::int64_t depth = task_.input.length > 0 ? task_.input.length : 1;
    // Few rows stream the weight once; many rows reuse a block of it. Both
    // compute each output alike.
    const bool few = rows <= kMaxTileRows;
    const std::int64_t fitting = kWeightBlockBytes / (depth * static_cast<std::int64_t>(sizeof(T)));
    const std::int64_t block_columns = few ? 8 : (fitting < 16 ? 16 : fitting / 4 * 4);
    const std::int64_t block_rows = few ? rows : kInputBlockRows;
    const std::int64_t row_blocks = (rows + block_rows - 1) / block_rows;
    const std::int64_t column_blocks = (columns + block_columns - 1) / block_columns;
    const std::int64_t work = block_rows * block_columns * depth;
    const std::int64_t grain = kMatrixGrain / work + 1;
    rt::ParallelFor(row_blocks * column_blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin; index < end; ++index) {
        const std::int64_t row = index % row_blocks * block_rows;
        const std::int64_t column = index / row_blocks * block_columns;
        RunBlock(
            {row, Least(row + block_rows, rows), column, Least(column + block_columns, columns)});
      }
    });
  }

 private:
  static std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  const T* InputRow(std::int64_t row) const {
    if (packed_input_ != nullptr) {
      return packed_input_ + row * task_.input.length;
    }
    return reinterpret_cast<const T*>(task_.input.data) + task_.input.Offset(row);
  }

  void RunBlock(const OutputBlock& block) const {
    const T* weight =
        reinterpret_cast<const T*>(task_.weight.data) + block.column * task_.weight.strides[0];
    std::int64_t weight_stride = task_.weight.strides[0];
    if (task_.weight.inner_stride != 1) {
      const std::int64_t length = task_.weight.length;
      T* packed = static_cast<T*>(Scratch(
          ScratchPurpose::kOwn,
          static_cast<std::size_t>((block.column_end - block.column) * length) * sizeof(T)));
      PackRows(task_.weight, block.column, block.column_end, packed);
      weight = packed;
      weight_stride = length;
    }
    for (std::int64_t row = block.row; row < block.row_end; row += kMaxTileRows) {
      const OutputBlock strip = {row, Least(row + kMaxTileRows, block.row_end), block.column,
                                 block.column_end};
      switch (strip.row_end - strip.row) {
        case 1:
          RunStrip<1, 8>(strip, weight, weight_stride);
          break;
        case 2:
          RunStrip<2, 4>(strip, weight, weight_stride);
          break;
        case 3:
          RunStrip<3, 4>(strip, weight, weight_stride);
          break;
        default:
          if constexpr (kMaxTileRows > 3) {
            switch (strip.row_end - strip.row) {
              case 4:
                RunStrip<4, 4>(strip, weight, weight_stride);
                break;
              case 5:
                RunStrip<5, 4>(strip, weight, weight_stride);
                break;
              default:
                RunStrip<6, 4>(strip, weight, weight_stride);
                break;
            }
          }
      }
    }
  }

  /// The rows of `strip`, `kRows` in number, against all of its columns.
  template <int kRows, int kColumns>
  void RunStrip(const OutputBlock& strip, const T* weight, std::int64_t weight_stride) const {
    const T* x[kRows];
    T* out[kRows];
    for (int i = 0; i < kRows; ++i) {
      x[i] = InputRow(strip.row + i);
      out[i] = reinterpret_cast<T*>(task_.out.data) + task_.out.Offset(strip.row + i);
    }
    const std::int64_t out_stride = task_.out.inner_stride;
    const T* bias = reinterpret_cast<const T*>(task_.bias);
    for (std::int64_t column = strip.column; column < strip.column_end; column += kColumns) {
      const std::int64_t count = Least(kColumns, strip.column_end - column);
      const T* w[kColumns];
      for (int j = 0; j < kColumns; ++j) {
        // Past the end, the last row again; its results are not stored.
        const std::int64_t own = Least(j, count - 1);
        w[j] = weight + (column - strip.column + own) * weight_stride;
      }
      float sums[kRows][kColumns];
      Tile<T, kRows, kColumns>(x, w, task_.input.length, sums);
      for (std::int64_t j = 0; j < count; ++j) {
        const float offset =
            bias == nullptr ? 0.0f : ToFloat(bias[(column + j) * task_.bias_stride]);
        for (int i = 0; i < kRows; ++i) {
          FromFloat(sums[i][j] + offset, out[i] + (column + j) * out_stride);
        }
      }
    }
  }

  const LinearTask& task_;
  T* packed_input_ = nullptr;
};

void Run(const LinearTask& task) {
  if (task.dtype == rt::DataType::kFloat32) {
    Product<float>(task).Run();
  } else {
    Product<BFloat16>(task).Run();
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/linear.h"

namespace infini::ops {

template <>
struct Operator<Linear, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& weight,
                   const std::optional<TensorView>& bias, const TensorView& out) {
    if (out.numel() == 0) return;
    cpu::LinearTask task;
    task.input = cpu::MakeRows(Linear::kOperator, input);
    task.weight = cpu::MakeRows(Linear::kOperator, weight);
    task.out = cpu::MakeRows(Linear::kOperator, out);
    task.bias = nullptr;
    task.bias_stride = 1;
    if (bias) {
      task.bias = static_cast<const char*>(cpu::TaskAddress(*bias));
      if (bias->size(0) != 1) task.bias_stride = bias->stride(0);
    }
    task.dtype = out.dtype();
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_LINEAR_H_
