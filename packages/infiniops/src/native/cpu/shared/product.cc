// Fills the tasks of matrix products from tensors.
#include <algorithm>
#include <string>

#include "native/cpu/shared/product.h"

namespace infini::ops::cpu {
namespace {

constexpr int kOperands = ProductTask::kOperands;

/// One leading dimension of a product; strides count elements.
struct Leading {
  std::int64_t size;
  std::int64_t strides[kOperands];
};

/// The stride of `view` along its dimension `dim` where the result has `size` elements: 0 where the
/// view repeats itself. A negative `dim` does not exist.
std::int64_t StrideOf(const TensorView& view, int dim, std::int64_t size) {
  if (dim < 0 || view.size(dim) != size || size == 1) return 0;
  return view.stride(dim);
}

/// Puts a dimension outside of those that `task` has; joins it with the outermost where it can.
void AddLeading(const char* op, const TensorView& out, const Leading& dim, ProductTask* task) {
  if (dim.size == 1) return;
  task->batch *= dim.size;
  if (task->batch_rank > 0) {
    const int last = task->batch_rank - 1;
    bool joins = true;
    for (int i = 0; i < kOperands; ++i) {
      joins &= dim.strides[i] == task->batch_strides[last][i] * task->batch_sizes[last];
    }
    if (joins) {
      task->batch_sizes[last] *= dim.size;
      return;
    }
  }
  if (task->batch_rank == kMaxTaskRank) {
    throw Error(ErrorCode::kNotSupported, op, out.device().ToString(),
                "the strides leave more than " + std::to_string(kMaxTaskRank) +
                    " leading dimensions that cannot be joined; copy the inputs to contiguous "
                    "tensors");
  }
  task->batch_sizes[task->batch_rank] = dim.size;
  std::copy_n(dim.strides, kOperands, task->batch_strides[task->batch_rank]);
  ++task->batch_rank;
}

/// Makes rows of the innermost leading dimension, where all rows share the weight; the others stay
/// a batch.
void TakeRows(ProductTask* task) {
  if (task->rows != 1 || task->batch_rank == 0) return;
  const auto& strides = task->batch_strides[0];
  if (strides[ProductTask::kWeight] != 0) return;
  task->rows = task->batch_sizes[0];
  task->batch /= task->rows;
  for (const int i : {ProductTask::kX, ProductTask::kAddend, ProductTask::kOut}) {
    task->operands[i].row_stride = strides[i];
  }
  --task->batch_rank;
  for (int dim = 0; dim < task->batch_rank; ++dim) {
    task->batch_sizes[dim] = task->batch_sizes[dim + 1];
    std::copy_n(task->batch_strides[dim + 1], kOperands, task->batch_strides[dim]);
  }
}

/// A dimension of one element has no stride that matters; 1 lets it count as contiguous.
void Normalize(ProductTask* task) {
  if (task->depth == 1) {
    task->operands[ProductTask::kX].column_stride = 1;
    task->operands[ProductTask::kWeight].column_stride = 1;
  }
  if (task->columns == 1) {
    task->operands[ProductTask::kAddend].column_stride = 1;
    task->operands[ProductTask::kOut].column_stride = 1;
  }
}

}  // namespace

void LaunchProduct(const char* op, const Context& context, const TensorView& x,
                   const TensorView& right, const std::optional<TensorView>& addend,
                   const ProductScale& scale, const TensorView& out) {
  if (out.numel() == 0) return;
  ProductTask task;
  const int rank = out.rank();
  task.rows = out.size(-2);
  task.columns = out.size(-1);
  task.depth = x.size(-1);
  task.batch = 1;
  task.batch_rank = 0;
  task.alpha = scale.alpha;
  task.beta = scale.beta;
  task.dtype = out.dtype();
  task.operands[ProductTask::kX] = {static_cast<char*>(TaskAddress(x)), x.stride(-2), x.stride(-1)};
  task.operands[ProductTask::kWeight] = {static_cast<char*>(TaskAddress(right)), right.stride(-1),
                                         right.stride(-2)};
  task.operands[ProductTask::kOut] = {static_cast<char*>(TaskAddress(out)), out.stride(-2),
                                      out.stride(-1)};
  const TensorView* added = addend && scale.beta != 0 ? &*addend : nullptr;
  task.operands[ProductTask::kAddend] = {nullptr, 0, 0};
  if (added != nullptr) {
    task.operands[ProductTask::kAddend] = {static_cast<char*>(TaskAddress(*added)),
                                           StrideOf(*added, added->rank() - 2, task.rows),
                                           StrideOf(*added, added->rank() - 1, task.columns)};
  }
  for (int dim = rank - 3; dim >= 0; --dim) {
    const std::int64_t size = out.size(dim);
    const auto own = [&](const TensorView& view) {
      return StrideOf(view, dim - (rank - view.rank()), size);
    };
    AddLeading(op, out, {size, {own(x), own(right), added == nullptr ? 0 : own(*added), own(out)}},
               &task);
  }
  TakeRows(&task);
  Normalize(&task);
  Launch(context, task);
}

void LaunchRowProduct(const char* op, const Context& context, const TensorView& x,
                      const TensorView& weight, const std::optional<TensorView>& bias,
                      const TensorView& out) {
  if (out.numel() == 0) return;
  ProductTask task;
  task.rows = 1;
  task.columns = out.size(-1);
  task.depth = x.size(-1);
  task.batch = 1;
  task.batch_rank = 0;
  task.alpha = 1;
  task.beta = 1;
  task.dtype = out.dtype();
  task.operands[ProductTask::kX] = {static_cast<char*>(TaskAddress(x)), 0, x.stride(-1)};
  task.operands[ProductTask::kWeight] = {static_cast<char*>(TaskAddress(weight)), weight.stride(0),
                                         weight.stride(1)};
  task.operands[ProductTask::kOut] = {static_cast<char*>(TaskAddress(out)), 0, out.stride(-1)};
  task.operands[ProductTask::kAddend] = {nullptr, 0, 0};
  if (bias) {
    task.operands[ProductTask::kAddend] = {static_cast<char*>(TaskAddress(*bias)), 0,
                                           bias->stride(0)};
  }
  for (int dim = out.rank() - 2; dim >= 0; --dim) {
    AddLeading(op, out, {out.size(dim), {x.stride(dim), 0, 0, out.stride(dim)}}, &task);
  }
  TakeRows(&task);
  Normalize(&task);
  Launch(context, task);
}

}  // namespace infini::ops::cpu
