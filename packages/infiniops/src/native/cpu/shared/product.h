// Matrix products for the CPU: the kernel of linear, matmul, gemm and the like.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_PRODUCT_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_PRODUCT_H_

#include <infini/rt/data_type.h>

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// A matrix inside a task; strides count elements.
struct TaskMatrix {
  char* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// What is applied to a sum before it is rounded.
enum class Epilogue { kNone, kRelu, kSilu, kGelu, kGeluTanh };

/// out = epilogue(alpha * x * transpose(weight) + beta * addend), for each item of a batch.
struct ProductTask {
  enum { kX, kWeight, kAddend, kOut, kOperands };

  std::int64_t rows;     // of x, addend and out
  std::int64_t columns;  // of addend and out; rows of weight
  std::int64_t depth;    // columns of x and weight
  std::int64_t batch;
  TaskMatrix operands[kOperands];  // addend.data null: none
  int batch_rank;                  // innermost dimension first
  std::int64_t batch_sizes[kMaxTaskRank];
  std::int64_t batch_strides[kMaxTaskRank][kOperands];
  double alpha;
  double beta;
  Epilogue epilogue;
  rt::DataType dtype;
  bool one_stream;  // how the processor reads memory fastest
};
INFINI_OPS_CPU_BF16_KERNEL(ProductTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/product.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const ProductTask& task) {
  switch (task.dtype) {
    case rt::DataType::kFloat64:
      return Product<double>(task).Run();
    case rt::DataType::kFloat32:
      return Product<float>(task).Run();
    case rt::DataType::kFloat16:
      return Product<Float16>(task).Run();
    default:
      return Product<BFloat16>(task).Run();
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <optional>

namespace infini::ops::cpu {

/// How a product reads its operands and writes its result.
struct ProductScale {
  double alpha = 1;
  double beta = 1;  // of the addend; 0: it is not read
};

/// Queues out = alpha * x * right + beta * addend. `x` is [..., M, K], `right` [..., K, N], `out`
/// [..., M, N]; leading dimensions of `x` and `right` and the whole `addend` broadcast to `out`'s.
/// Throws `Error` (not supported) when more than `kMaxTaskRank` leading dimensions cannot be
/// joined.
void LaunchProduct(const char* op, const Context& context, const TensorView& x,
                   const TensorView& right, const std::optional<TensorView>& addend,
                   const ProductScale& scale, const TensorView& out);

/// The same for rows: `x` is [..., K], `weight` [N, K], `out` [..., N].
void LaunchRowProduct(const char* op, const Context& context, const TensorView& x,
                      const TensorView& weight, const std::optional<TensorView>& bias,
                      Epilogue epilogue, const TensorView& out);

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_PRODUCT_H_
