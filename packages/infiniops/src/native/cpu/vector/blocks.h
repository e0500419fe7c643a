// How matrix products are cut into blocks, and the parallel loops over them.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_

#include <infini/rt/parallel.h>

#include <cstdint>

#include "native/cpu/vector/matrix.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

constexpr std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t RoundUp(std::int64_t a, std::int64_t b) { return DivideUp(a, b) * b; }

/// Multiply-adds that are worth a second thread.
inline constexpr std::int64_t kMatrixGrain = 128 * 1024;
/// Up to so many rows, the weight is streamed from memory once and nothing of it is copied.
inline constexpr std::int64_t kFewRows = 16;
/// Bytes of the weight that a thread streams at a time, and least and most columns of it.
inline constexpr std::int64_t kStreamBytes = 512 * 1024;
inline constexpr std::int64_t kLeastStreamColumns = 32;
inline constexpr std::int64_t kStreamColumns = 256;
/// Most rows and columns of a block of outputs. Its packed rows, chunk by chunk, stay in the
/// second-level cache.
inline constexpr std::int64_t kBlockRows = 32 * kMaxTileRows;
inline constexpr std::int64_t kBlockColumns = 256;
/// Most blocks, one below the other, that share a copy of their part of the weight.
inline constexpr std::int64_t kBlocksTogether = 6;

/// Most threads that share the blocks of one product.
inline constexpr std::int64_t kMostShares = 1024;

/// A range of outputs.
struct OutputBlock {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t column;
  std::int64_t columns;
};

/// Blocks that are one thread's to take, first to last, while others may take from the end.
class Share {
 public:
  void Set(std::uint32_t first, std::uint32_t last) { range_ = Range(first, last); }

  /// Takes the first block that is left, or the last one; -1 where none is.
  std::int64_t Take(bool from_end) {
    std::uint64_t range = __atomic_load_n(&range_, __ATOMIC_RELAXED);
    for (;;) {
      const auto first = static_cast<std::uint32_t>(range);
      const auto last = static_cast<std::uint32_t>(range >> 32);
      if (first == last) return -1;
      const std::uint64_t rest = from_end ? Range(first, last - 1) : Range(first + 1, last);
      if (__atomic_compare_exchange_n(&range_, &range, rest, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        return from_end ? last - 1 : first;
      }
    }
  }

 private:
  static constexpr std::uint64_t Range(std::uint32_t first, std::uint32_t last) {
    return std::uint64_t{last} << 32 | first;
  }

  std::uint64_t range_;  // not cleared: there are many, and few of them are used
};

/// Calls `function(i)` once for each i in [0, `count`), on as many threads as there are blocks.
/// Each thread goes through neighbouring blocks, so that what it asks for ahead is its own; one
/// that is done takes the last blocks of others, so one that the system holds up does not hold up
/// the others: what a block computes must not depend on who computes it.
template <typename Function>
void ForEachBlock(std::int64_t count, Function function) {
  const std::int64_t threads = Least(Least(count, rt::GetNumThreads()), kMostShares);
  // Blocks that are taken at once; more than one only where 32 bits do not count them.
  const std::int64_t unit = (count >> 31) + 1;
  const std::int64_t units = DivideUp(count, unit);
  Share shares[kMostShares];
  for (std::int64_t i = 0; i < threads; ++i) {
    shares[i].Set(static_cast<std::uint32_t>(units * i / threads),
                  static_cast<std::uint32_t>(units * (i + 1) / threads));
  }
  rt::ParallelFor(threads, 1, [&](std::int64_t begin, std::int64_t) {
    for (std::int64_t i = 0; i < threads; ++i) {
      Share& share = shares[(begin + i) % threads];
      for (;;) {
        const std::int64_t taken = share.Take(i != 0);
        if (taken < 0) break;
        const std::int64_t end = Least(count, (taken + 1) * unit);
        for (std::int64_t index = taken * unit; index < end; ++index) function(index);
      }
    }
  });
}

/// Calls `function(i)` for each block, on the calling thread where all of it is little work.
template <typename Function>
void ForEachBlock(std::int64_t count, std::int64_t multiply_adds, Function function) {
  if (multiply_adds > kMatrixGrain) return ForEachBlock(count, function);
  for (std::int64_t index = 0; index < count; ++index) function(index);
}

/// Cuts the rows of a weight into ranges that threads stream, each `bytes` long, and calls
/// `function(block)` for each.
template <typename Function>
void ForEachStream(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t bytes,
                   Function function) {
  const std::int64_t fitting = Least(kStreamBytes / (bytes + 1), kStreamColumns);
  const std::int64_t most = fitting > kLeastStreamColumns ? fitting : kLeastStreamColumns;
  // Some blocks for each thread, where there are enough columns: a held up one keeps few. A block's
  // first rows are not asked for ahead, so more blocks cost.
  const std::int64_t size =
      RoundUp(Least(most, DivideUp(columns, 4 * rt::GetNumThreads())), kMaxTileColumns);
  ForEachBlock(DivideUp(columns, size), rows * columns * depth, [&](std::int64_t index) {
    const std::int64_t column = index * size;
    function(OutputBlock{0, rows, column, Least(size, columns - column)});
  });
}

/// Numbers from one row of a block's sums to the next: no power of two, so that the rows lie in
/// different sets of the caches.
constexpr std::int64_t SumsStride(std::int64_t columns) {
  return RoundUp(columns, kMaxTileColumns) + 16;
}

/// The size of blocks, at most `most` and a multiple of `unit`, that cut `size` evenly.
constexpr std::int64_t EvenBlock(std::int64_t size, std::int64_t most, std::int64_t unit) {
  return RoundUp(DivideUp(size, DivideUp(size, most)), unit);
}

/// Rows and columns of the blocks of a product.
struct BlockSize {
  std::int64_t rows;
  std::int64_t columns;
};

/// Chooses the blocks of `batch` results of `rows` by `columns`: enough of them for the threads, as
/// far as a block stays worth its packing. Up to `together` blocks, one below the other, are joined
/// where they can share what is prepared of the weight.
inline BlockSize ChooseBlocks(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                              std::int64_t together, std::int64_t threads) {
  const std::int64_t part_rows = EvenBlock(rows, kBlockRows, kMaxTileRows);
  const auto count = [&](const BlockSize& size) {
    return DivideUp(rows, size.rows) * DivideUp(columns, size.columns) * batch;
  };
  const auto halve_columns = [&](std::int64_t wanted, std::int64_t least, BlockSize* size) {
    while (count(*size) < wanted && size->columns > least) {
      size->columns = EvenBlock(columns, size->columns / 2, kMaxTileColumns);
    }
  };
  const BlockSize whole = {part_rows, EvenBlock(columns, kBlockColumns, kMaxTileColumns)};
  for (std::int64_t parts = Least(together, DivideUp(rows, part_rows)); parts > 1; --parts) {
    // Two for each thread: what more of them would copy costs more than an even end gains.
    const std::int64_t wanted = threads == 1 ? 1 : 2 * threads;
    BlockSize size = {EvenBlock(rows, parts * part_rows, part_rows), whole.columns};
    halve_columns(wanted, kBlockColumns / 2, &size);
    if (count(size) >= wanted) return size;
  }
  const std::int64_t wanted = threads == 1 ? 1 : 4 * threads;
  BlockSize size = whole;
  halve_columns(wanted, kBlockColumns / 4, &size);
  while (count(size) < wanted && size.rows > 8 * kMaxTileRows) {
    size.rows = EvenBlock(rows, size.rows / 2, kMaxTileRows);
  }
  return size;
}

/// Cuts the outputs of each item of a batch into blocks and calls `function(item, block)` for each.
/// A block has at most `kBlockRows` rows, or up to `together` times as many that share what is
/// prepared of the weight; see `ForEachRowBlock`.
template <typename Function>
void ForEachOutputBlock(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                        std::int64_t depth, std::int64_t together, Function function) {
  const BlockSize size = ChooseBlocks(batch, rows, columns, together, rt::GetNumThreads());
  const std::int64_t block_rows = size.rows;
  const std::int64_t block_columns = size.columns;
  const std::int64_t row_blocks = DivideUp(rows, block_rows);
  const std::int64_t blocks = row_blocks * DivideUp(columns, block_columns);
  const std::int64_t work = rows * columns * (depth + 8) * batch;
  ForEachBlock(blocks * batch, work, [&](std::int64_t index) {
    const std::int64_t place = index % blocks;
    const std::int64_t row = place % row_blocks * block_rows;
    const std::int64_t column = place / row_blocks * block_columns;
    function(index / blocks, OutputBlock{row, Least(block_rows, rows - row), column,
                                         Least(block_columns, columns - column)});
  });
}

/// Cuts the rows of a block into parts of at most `kBlockRows` and calls `function(part)` for each.
template <typename Function>
void ForEachRowBlock(const OutputBlock& block, Function function) {
  const std::int64_t size = EvenBlock(block.rows, kBlockRows, kMaxTileRows);
  for (std::int64_t row = 0; row < block.rows; row += size) {
    function(
        OutputBlock{block.row + row, Least(size, block.rows - row), block.column, block.columns});
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_BLOCKS_H_
