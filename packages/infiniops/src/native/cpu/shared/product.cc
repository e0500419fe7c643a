// Fills the tasks of matrix products from tensors.
#include <algorithm>
#include <string>
#include <utility>

#include "native/cpu/processor.h"
#include "native/cpu/shared/product.h"

namespace infini::ops::cpu {
namespace {

constexpr int kOperands = ProductTask::kOperands;

/// One leading dimension of a product; strides count elements.
struct Leading {
  std::int64_t size;
  std::int64_t strides[kOperands];
};

/// The stride of `view` along the dimension `dim` of the result, which has `size` elements there: 0
/// where the view lacks the dimension or repeats itself. Both are aligned at their last dimension.
std::int64_t StrideOf(const TensorView& view, const TensorView& out, int dim) {
  const int own = dim - (out.rank() - view.rank());
  if (own < 0 || view.size(own) == 1) return 0;
  return view.stride(own);
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

/// Exchanges the operands where the right one is the narrow one: x is copied for the tiles, the
/// weight is streamed. A product of rows does not depend on which is which.
void TakeNarrow(ProductTask* task) {
  constexpr std::int64_t kNarrow = 16;
  if (task->columns > kNarrow || task->rows <= task->columns) return;
  std::swap(task->rows, task->columns);
  std::swap(task->operands[ProductTask::kX], task->operands[ProductTask::kWeight]);
  for (int dim = 0; dim < task->batch_rank; ++dim) {
    std::swap(task->batch_strides[dim][ProductTask::kX],
              task->batch_strides[dim][ProductTask::kWeight]);
  }
  for (const int i : {ProductTask::kAddend, ProductTask::kOut}) {
    std::swap(task->operands[i].row_stride, task->operands[i].column_stride);
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

/// Queues a task whose leading dimensions are complete.
void Queue(const Context& context, ProductTask* task) {
  TakeRows(task);
  TakeNarrow(task);
  Normalize(task);
  Launch(context, *task);
}

ProductTask MakeTask(const TensorView& x, const TensorView& right, const TensorView& out) {
  ProductTask task;
  task.batch = 1;
  task.batch_rank = 0;
  task.depth = x.size(-1);
  task.dtype = out.dtype();
  task.epilogue = Epilogue::kNone;
  task.one_stream = ReadsOneStream();
  task.operands[ProductTask::kX].data = static_cast<char*>(TaskAddress(x));
  task.operands[ProductTask::kWeight].data = static_cast<char*>(TaskAddress(right));
  task.operands[ProductTask::kAddend] = {nullptr, 0, 0};
  task.operands[ProductTask::kOut].data = static_cast<char*>(TaskAddress(out));
  return task;
}

}  // namespace

void LaunchProduct(const char* op, const Context& context, const TensorView& x,
                   const TensorView& right, const std::optional<TensorView>& addend,
                   const ProductScale& scale, const TensorView& out) {
  if (out.numel() == 0) return;
  ProductTask task = MakeTask(x, right, out);
  task.alpha = scale.alpha;
  task.beta = scale.beta;
  const TensorView* added = addend && scale.beta != 0 ? &*addend : nullptr;
  if (added != nullptr) {
    task.operands[ProductTask::kAddend].data = static_cast<char*>(TaskAddress(*added));
  }
  TaskMatrix& own_x = task.operands[ProductTask::kX];
  TaskMatrix& own_right = task.operands[ProductTask::kWeight];
  TaskMatrix& own_added = task.operands[ProductTask::kAddend];
  TaskMatrix& own_out = task.operands[ProductTask::kOut];
  // A vector lacks the dimension that the result then lacks too.
  const bool has_rows = x.rank() > 1;
  const bool has_columns = right.rank() > 1;
  int dim = out.rank();
  task.columns = 1;
  own_right.row_stride = own_out.column_stride = own_added.column_stride = 0;
  if (has_columns) {
    --dim;
    task.columns = out.size(dim);
    own_right.row_stride = right.stride(-1);
    own_out.column_stride = out.stride(dim);
    if (added != nullptr) own_added.column_stride = StrideOf(*added, out, dim);
  }
  task.rows = 1;
  own_x.row_stride = own_out.row_stride = own_added.row_stride = 0;
  if (has_rows) {
    --dim;
    task.rows = out.size(dim);
    own_x.row_stride = x.stride(-2);
    own_out.row_stride = out.stride(dim);
    if (added != nullptr) own_added.row_stride = StrideOf(*added, out, dim);
  }
  own_x.column_stride = x.stride(-1);
  own_right.column_stride = has_columns ? right.stride(-2) : right.stride(-1);
  // The leading dimensions end here; a factor's own end before its matrix.
  const int leading = dim;
  const auto stride_of = [&](const TensorView& factor, bool has_matrix, int at) -> std::int64_t {
    const int own = at - (leading - (factor.rank() - (has_matrix ? 2 : 1)));
    return own < 0 || factor.size(own) == 1 ? 0 : factor.stride(own);
  };
  while (dim-- > 0) {
    AddLeading(op, out,
               {out.size(dim),
                {stride_of(x, has_rows, dim), stride_of(right, has_columns, dim),
                 added == nullptr ? 0 : StrideOf(*added, out, dim), out.stride(dim)}},
               &task);
  }
  Queue(context, &task);
}

void LaunchRowProduct(const char* op, const Context& context, const TensorView& x,
                      const TensorView& weight, const std::optional<TensorView>& bias,
                      Epilogue epilogue, const TensorView& out) {
  if (out.numel() == 0) return;
  ProductTask task = MakeTask(x, weight, out);
  task.alpha = 1;
  task.beta = 1;
  task.epilogue = epilogue;
  task.rows = 1;
  task.columns = out.size(-1);
  TaskMatrix* operands = task.operands;
  operands[ProductTask::kX].row_stride = 0;
  operands[ProductTask::kX].column_stride = x.stride(-1);
  operands[ProductTask::kWeight].row_stride = weight.stride(0);
  operands[ProductTask::kWeight].column_stride = weight.stride(1);
  operands[ProductTask::kOut].row_stride = 0;
  operands[ProductTask::kOut].column_stride = out.stride(-1);
  if (bias) {
    operands[ProductTask::kAddend] = {static_cast<char*>(TaskAddress(*bias)), 0, bias->stride(0)};
  }
  for (int dim = out.rank() - 2; dim >= 0; --dim) {
    AddLeading(op, out, {out.size(dim), {x.stride(dim), 0, 0, out.stride(dim)}}, &task);
  }
  Queue(context, &task);
}

}  // namespace infini::ops::cpu
