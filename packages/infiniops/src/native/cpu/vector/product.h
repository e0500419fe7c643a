// Blocks of a matrix product: what is packed, how it is cut, and what follows the sums.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_H_

#include "native/cpu/shared/product.h"
#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/elementwise.h"
#include "native/cpu/vector/epilogue.h"
#include "native/cpu/vector/in_order.h"
#include "native/cpu/vector/pack.h"
#include "native/cpu/vector/product_across.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Rows that are transposed at a time: whole tiles and whole squares.
inline constexpr std::int64_t kTransposeRows = 24;
static_assert(kTransposeRows % kMaxTileRows == 0);

/// Where one item of the batch begins, in elements.
struct BatchOffsets {
  std::int64_t of[ProductTask::kOperands];
};

INFINI_OPS_INLINE BatchOffsets OffsetsOf(const ProductTask& task, std::int64_t index) {
  BatchOffsets offsets = {};
  for (int dim = 0; dim < task.batch_rank; ++dim) {
    const std::int64_t place = index % task.batch_sizes[dim];
    index /= task.batch_sizes[dim];
    for (int i = 0; i < ProductTask::kOperands; ++i) {
      offsets.of[i] += place * task.batch_strides[dim][i];
    }
  }
  return offsets;
}

/// A product of matrices stored as `T`.
template <typename T>
class Product {
  using Operand = OperandOf<T>;
  using Sum = SumOf<T>;

 public:
  explicit Product(const ProductTask& task) : task_(task) {}

  void Run() const {
    const bool few = task_.rows <= kFewRows && task_.batch == 1;
    if (few && Weight({}).column_stride == 1) {
      RunFewRows();
    } else if (few && Weight({}).row_stride == 1 && task_.rows <= kAcrossRows) {
      RunFewRowsAcross();
    } else {
      RunBlocks();
    }
  }

 private:
  Strided<T> Matrix(int operand, const BatchOffsets& offsets) const {
    const TaskMatrix& matrix = task_.operands[operand];
    return {reinterpret_cast<const T*>(matrix.data) + offsets.of[operand], matrix.row_stride,
            matrix.column_stride};
  }
  Strided<T> X(const BatchOffsets& offsets) const { return Matrix(ProductTask::kX, offsets); }
  Strided<T> Weight(const BatchOffsets& offsets) const {
    return Matrix(ProductTask::kWeight, offsets);
  }

  /// Packs the chunk [k, k + depth) of rows for tiles, strip after strip. `temporary` holds
  /// `kTransposeRows` rows of a chunk; it is used where the chunk is not contiguous.
  void PackX(const Strided<T>& x, std::int64_t row, std::int64_t rows, std::int64_t k,
             std::int64_t depth, T* temporary, Operand* to) const {
    const std::int64_t padded = WholeSteps<T>(depth);
    for (std::int64_t begin = 0; begin < rows; begin += kTransposeRows) {
      const std::int64_t end = Least(begin + kTransposeRows, rows);
      Strided<T> from = {x.At(row + begin, k), x.row_stride, x.column_stride};
      if (from.column_stride != 1) {
        PackRows(from, end - begin, depth, temporary, kChunk<T>);
        from = {temporary, kChunk<T>, 1};
      }
      for (std::int64_t strip = begin; strip < end; strip += kMaxTileRows) {
        PackStrip(from.At(strip - begin, 0), from.row_stride, Least(kMaxTileRows, end - strip),
                  depth, to + strip * padded);
      }
    }
  }

  // Few rows: every thread streams its own rows of the weight, all of the inner dimension.

  void RunFewRows() const {
    const std::int64_t rows = task_.rows;
    const std::int64_t padded = WholeSteps<T>(task_.depth);
    const auto operand_bytes = static_cast<std::size_t>(rows * padded) * sizeof(Operand);
    const auto temporary_bytes = static_cast<std::size_t>(kTransposeRows * kChunk<T>) * sizeof(T);
    auto* packed =
        static_cast<Operand*>(Scratch(ScratchPurpose::kShared, operand_bytes + temporary_bytes));
    auto* temporary = reinterpret_cast<T*>(packed + rows * padded);
    for (std::int64_t k = 0; k < task_.depth; k += kChunk<T>) {
      PackX(X({}), 0, rows, k, Least(kChunk<T>, task_.depth - k), temporary, packed + k * rows);
    }
    const std::int64_t bytes = task_.depth * static_cast<std::int64_t>(sizeof(T));
    ForEachStream(rows, task_.columns, task_.depth, bytes, [&](const OutputBlock& block) {
      if (ReadsInOrder<T>(task_.one_stream, rows, task_.depth)) {
        StreamRows(packed, block);
      } else if (SourceOfStream(bytes) == Source::kShortRows) {
        StreamBlock<Source::kShortRows>(packed, block);
      } else {
        StreamBlock<Source::kLongRows>(packed, block);
      }
    });
  }

  void StreamRows(const Operand* x, const OutputBlock& block) const {
    alignas(64) Sum sums[kInOrderRows * kStreamColumns] = {};
    const TileWeight<T> weight = {Weight({}).At(block.column, 0), Weight({}).row_stride,
                                  block.columns};
    if (task_.one_stream) {
      RunInOrder<T, Asks::kEveryLine>(block.rows, x, weight, task_.depth, sums, kStreamColumns);
    } else {
      AddInOrder<T, 1, Asks::kNextPage>(x, weight, task_.depth, sums, kStreamColumns);
    }
    Write({}, block, sums, kStreamColumns);
  }

  template <Source kSource>
  void StreamBlock(const Operand* x, const OutputBlock& block) const {
    if (block.rows <= kMaxWideTileRows) {
      StreamTiles<8, kSource>(x, block);
    } else {
      StreamTiles<4, kSource>(x, block);
    }
  }

  template <int kColumns, Source kSource>
  void StreamTiles(const Operand* x, const OutputBlock& block) const {
    alignas(64) Sum sums[kFewRows * kStreamColumns];
    const std::int64_t stride = RoundUp(block.columns, kMaxTileColumns);
    for (std::int64_t i = 0; i < block.rows * stride; ++i) sums[i] = 0;
    const Strided<T> weight = Weight({});
    // Long rows of x do not fit the first-level cache; two tiles share what is read of a chunk.
    constexpr std::int64_t kStrip =
        kSource == Source::kLongRows && kColumns == 4 ? 2 * kColumns : kColumns;
    const std::int64_t ahead =
        StreamAhead(task_.depth * static_cast<std::int64_t>(sizeof(T)), weight.row_stride, kStrip);
    for (std::int64_t strip = 0; strip < block.columns; strip += kStrip) {
      const std::int64_t end = Least(strip + kStrip, block.columns);
      for (std::int64_t k = 0; k < task_.depth; k += kChunk<T>) {
        const std::int64_t depth = Least(kChunk<T>, task_.depth - k);
        for (std::int64_t j = strip; j < end; j += kColumns) {
          const TileWeight<T> tile = {weight.At(block.column + j, k), weight.row_stride,
                                      block.columns - j, ahead};
          AddColumns<T, kColumns, kSource>(x + k * block.rows, block.rows, tile, depth, sums + j,
                                           stride);
        }
      }
    }
    Write({}, block, sums, stride);
  }

  // Few rows, the weight's columns side by side: every thread streams some of them.

  void RunFewRowsAcross() const {
    using A = AcrossOf<T>;
    constexpr std::int64_t kWidth = sizeof(typename A::Vector) / sizeof(Sum);
    const std::int64_t rows = task_.rows;
    const std::int64_t steps = DivideUp(task_.depth, A::kDepth);
    auto* left = static_cast<typename A::Left*>(
        Scratch(ScratchPurpose::kShared,
                static_cast<std::size_t>(rows * steps) * sizeof(typename A::Left)));
    const Strided<T> x = X({});
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t step = 0; step < steps; ++step) {
        left[row * steps + step] = A::LeftAt(x, row, step * A::kDepth, task_.depth);
      }
    }
    // A block's sums, one for every lane, stay in the first-level cache.
    const std::int64_t size = RoundUp(
        Least(kStreamColumns / rows, DivideUp(task_.columns, 4 * rt::GetNumThreads())), kWidth);
    ForEachBlock(
        DivideUp(task_.columns, size), rows * task_.columns * task_.depth, [&](std::int64_t index) {
          const OutputBlock block = {0, rows, index * size,
                                     Least(size, task_.columns - index * size)};
          auto* sums = static_cast<Sum*>(
              Scratch(ScratchPurpose::kOwn,
                      static_cast<std::size_t>(rows * size * (1 + A::kLaneCount)) * sizeof(Sum)));
          const Strided<T> weight = Weight({});
          StreamAcross<T>(left, rows,
                          {weight.At(block.column, 0), weight.row_stride, weight.column_stride},
                          block.columns, task_.depth, sums + rows * size, sums, size);
          Write({}, block, sums, size);
        });
  }

  // Many rows: blocks of outputs, chunk by chunk.

  void RunBlocks() const {
    const std::int64_t together = PacksWeight(Weight({}), task_.rows) ? kBlocksTogether : 1;
    ForEachOutputBlock(task_.batch, task_.rows, task_.columns, task_.depth, together,
                       [&](std::int64_t item, const OutputBlock& block) {
                         RunBlock(OffsetsOf(task_, item), block);
                       });
  }

  void RunBlock(const BatchOffsets& offsets, const OutputBlock& block) const {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t kWeightStride = kChunk<T> + kLine;  // rows of it lie in different sets
    const Strided<T> x = X(offsets);
    const Strided<T> weight = Weight(offsets);
    const bool packs_weight = PacksWeight(weight, block.rows);
    const std::int64_t sums_stride = SumsStride(block.columns);
    const std::int64_t sums_count = block.rows * sums_stride;
    const std::int64_t chunk = Least(kChunk<T>, WholeSteps<T>(task_.depth));
    const std::int64_t x_count = RoundUp(Least(block.rows, kBlockRows) * chunk, kLine);
    const std::int64_t weight_count = packs_weight ? block.columns * kWeightStride : 0;
    const std::int64_t temporary_count = x.column_stride != 1 ? kTransposeRows * kChunk<T> : 0;
    auto* sums = static_cast<Sum*>(
        Scratch(ScratchPurpose::kOwn,
                static_cast<std::size_t>(sums_count) * sizeof(Sum) +
                    static_cast<std::size_t>(x_count) * sizeof(Operand) +
                    static_cast<std::size_t>(weight_count + temporary_count) * sizeof(T)));
    auto* packed_x = reinterpret_cast<Operand*>(sums + sums_count);
    auto* packed_weight = reinterpret_cast<T*>(packed_x + x_count);
    T* temporary = packed_weight + weight_count;
    for (std::int64_t i = 0; i < sums_count; ++i) sums[i] = 0;
    for (std::int64_t k = 0; k < task_.depth; k += kChunk<T>) {
      std::int64_t depth = Least(kChunk<T>, task_.depth - k);
      const std::int64_t x_depth = depth;
      Strided<T> rows = {weight.At(block.column, k), weight.row_stride, weight.column_stride};
      if (packs_weight) {
        PackRows(rows, block.columns, depth, packed_weight, kWeightStride);
        rows = {packed_weight, kWeightStride, 1};
        depth = WholeSteps<T>(depth);
      }
      ForEachRowBlock(block, [&](const OutputBlock& part) {
        Sum* part_sums = sums + (part.row - block.row) * sums_stride;
        PackX(x, part.row, part.rows, k, x_depth, temporary, packed_x);
        for (std::int64_t j = 0; j < part.columns; j += TileColumns(part.rows)) {
          const TileWeight<T> tile = {rows.At(j, 0), rows.row_stride, part.columns - j};
          if (part.rows <= kMaxWideTileRows) {
            AddColumns<T, 8, Source::kCaches>(packed_x, part.rows, tile, depth, part_sums + j,
                                              sums_stride);
          } else {
            AddColumns<T, 4, Source::kCaches>(packed_x, part.rows, tile, depth, part_sums + j,
                                              sums_stride);
          }
        }
      });
    }
    Write(offsets, block, sums, sums_stride);
  }

  /// Whether blocks copy the weight: where its rows do not lie side by side, or are read so often
  /// that an aligned copy, in whole steps, pays.
  bool PacksWeight(const Strided<T>& weight, std::int64_t rows) const {
    constexpr std::int64_t kAlignment = 64;
    const auto bytes = weight.row_stride * static_cast<std::int64_t>(sizeof(T));
    const bool aligned = reinterpret_cast<std::uintptr_t>(weight.data) % kAlignment == 0 &&
                         bytes % kAlignment == 0 && task_.depth % Arithmetic<T>::kStep == 0;
    return weight.column_stride != 1 || (!aligned && rows > 4 * kMaxTileRows);
  }

  /// Scales the sums, adds the addend, applies the epilogue and stores the block.
  void Write(const BatchOffsets& offsets, const OutputBlock& block, Sum* sums,
             std::int64_t sums_stride) const {
    const TaskMatrix& addend = task_.operands[ProductTask::kAddend];
    const TaskMatrix& out = task_.operands[ProductTask::kOut];
    const auto alpha = static_cast<Sum>(task_.alpha);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      Sum* values = sums + i * sums_stride;
      if (alpha != 1) {
        for (std::int64_t j = 0; j < block.columns; ++j) values[j] *= alpha;
      }
      if (addend.data != nullptr) {
        const T* row = reinterpret_cast<const T*>(addend.data) + offsets.of[ProductTask::kAddend] +
                       (block.row + i) * addend.row_stride + block.column * addend.column_stride;
        AddRow(row, addend.column_stride, block.columns, values);
      }
      ApplyEpilogue(task_.epilogue, values, block.columns);
      T* row = reinterpret_cast<T*>(out.data) + offsets.of[ProductTask::kOut] +
               (block.row + i) * out.row_stride + block.column * out.column_stride;
      StoreRow(values, block.columns, row, out.column_stride);
    }
  }

  void AddRow(const T* row, std::int64_t stride, std::int64_t count, Sum* values) const {
    const auto beta = static_cast<Sum>(task_.beta);
    if constexpr (std::is_same_v<T, Sum>) {
      if (stride == 1) {
        for (std::int64_t j = 0; j < count; ++j) values[j] += beta * row[j];
      } else {
        for (std::int64_t j = 0; j < count; ++j) values[j] += beta * row[j * stride];
      }
    } else {
      constexpr std::int64_t kPart = 64;
      for (std::int64_t begin = 0; begin < count; begin += kPart) {
        alignas(64) float part[kPart];
        const std::int64_t length = Least(kPart, count - begin);
        Gather<T>(reinterpret_cast<const char*>(row + begin * stride),
                  stride * static_cast<std::int64_t>(sizeof(T)), length, part);
        for (std::int64_t j = 0; j < length; ++j) values[begin + j] += beta * part[j];
      }
    }
  }

  static void StoreRow(const Sum* values, std::int64_t count, T* row, std::int64_t stride) {
    if constexpr (std::is_same_v<T, Sum>) {
      if (stride == 1) {
        std::memcpy(row, values, static_cast<std::size_t>(count) * sizeof(T));
      } else {
        for (std::int64_t j = 0; j < count; ++j) row[j * stride] = values[j];
      }
    } else {
      Scatter<T>(values, count, reinterpret_cast<char*>(row),
                 stride * static_cast<std::int64_t>(sizeof(T)));
    }
  }

  const ProductTask& task_;
};

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_PRODUCT_H_
