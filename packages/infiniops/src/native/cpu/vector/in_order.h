// Few rows times a weight that comes from memory, whose rows are read one after another. Memory is
// then read nearly in order, which some processors fetch by themselves, faster than the rows of a
// tile that are read side by side.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_IN_ORDER_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_IN_ORDER_H_

#include <cstdint>

#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/matrix.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Most rows of x that are multiplied so: each has one chain of additions, which keeps up with
/// memory where an addition takes a whole line of it.
inline constexpr std::int64_t kInOrderRows = 4;
/// Columns whose lanes are added together.
inline constexpr std::int64_t kColumnsAdded = 4;
/// Columns that are read over a piece of the inner dimension before the next piece is. A piece is
/// as long as leaves its rows of x, so many chunks in all, in the first-level cache.
inline constexpr std::int64_t kColumnsOfPieces = 32;
inline constexpr std::int64_t kChunksOfPieces = 8;
template <int kRows>
inline constexpr std::int64_t kPieceChunks = kChunksOfPieces / kRows;

/// Longest row of the weight, in bytes, that one row of x is multiplied with in order where several
/// streams are as fast: longer ones gain nothing there.
inline constexpr std::int64_t kLongestRow = 3072;
/// Bytes from a row's start that are asked for with it there: the fetching by itself ends where a
/// small page does.
inline constexpr std::int64_t kNextPageBytes = 4096;

/// What is asked of memory ahead: a line of each row's next page, or every line.
enum class Asks { kNextPage, kEveryLine };

/// Whether the rows of a weight are read in order for `rows` rows of x; `one_stream`: that is how
/// the processor reads memory fastest.
template <typename T>
bool ReadsInOrder(bool one_stream, std::int64_t rows, std::int64_t depth) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (Arithmetic<T>::kStep * kSize < 64) return false;
  if (one_stream) return rows <= kInOrderRows;
  return rows == 1 && depth * kSize <= kLongestRow;
}

/// Adds up the products of `kRows` rows of x with one row of the weight over a piece of `depth`
/// elements: `lanes` has `kColumnsAdded` vectors for each row of each chunk, of which one is set.
template <typename T, int kRows, Asks kAsks>
void AddRow(const OperandOf<T>* x, const T* weight, std::int64_t depth, std::int64_t ahead,
            typename Arithmetic<T>::Sums* lanes) {
  using A = Arithmetic<T>;
  if constexpr (kAsks == Asks::kNextPage) {
    __builtin_prefetch(reinterpret_cast<const char*>(weight) + kNextPageBytes, 0, 2);
  }
  for (std::int64_t start = 0; start < depth; start += kChunk<T>) {
    const std::int64_t stop = Least(start + kChunk<T>, depth);
    typename A::Sums sums[kRows] = {};
    const auto add = [&](std::int64_t k, typename A::Vector column) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const auto row = Arithmetic<OperandOf<T>>::Read(x + k * kRows + i * A::kStep);
        sums[i] = A::Add(row, column, sums[i]);
      }
    };
    std::int64_t k = start;
#pragma GCC unroll 4
    for (; k + A::kStep <= stop; k += A::kStep) {
      if constexpr (kAsks == Asks::kEveryLine) __builtin_prefetch(weight + k + ahead, 0, 3);
      add(k, A::Read(weight + k));
    }
    if (k < stop) add(k, ReadPart<T>(weight + k, stop - k));
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) lanes[i * kColumnsAdded] = sums[i];
    lanes += kRows * kColumnsAdded;
  }
}

/// Adds to `sums`, whose rows are `sums_stride` apart and have room for a multiple of
/// `kColumnsAdded`, the products of `kRows` packed rows with `columns` rows of the weight.
template <typename T, int kRows, Asks kAsks>
void AddInOrder(const OperandOf<T>* x, const TileWeight<T>& weight, std::int64_t depth,
                SumOf<T>* sums, std::int64_t sums_stride) {
  using Sums = typename Arithmetic<T>::Sums;
  if (depth == 0) return;
  constexpr std::int64_t kPiece = kPieceChunks<kRows> * kChunk<T>;
  const std::int64_t piece_bytes = Least(depth, kPiece) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t columns_ahead = DivideUp(kAheadBytes, piece_bytes);
  Sums lanes[kPieceChunks<kRows> * kRows * kColumnsAdded];
  for (std::int64_t begin = 0; begin < weight.count; begin += kColumnsOfPieces) {
    const std::int64_t end = Least(begin + kColumnsOfPieces, weight.count);
    for (std::int64_t k = 0; k < depth; k += kPiece) {
      const std::int64_t length = Least(kPiece, depth - k);
      // From a column to the one that is read after the group's last: of the next piece, or group.
      const std::int64_t wrap = k + kPiece < depth ? kPiece - (end - begin) * weight.stride : -k;
      for (std::int64_t j = begin; j < end; j += kColumnsAdded) {
        for (std::int64_t c = 0; c < kColumnsAdded; ++c) {
          const std::int64_t column = Least(j + c, end - 1);
          const std::int64_t ahead =
              columns_ahead * weight.stride + (column + columns_ahead < end ? 0 : wrap);
          AddRow<T, kRows, kAsks>(x + k * kRows, weight.data + column * weight.stride + k, length,
                                  ahead, lanes + c);
        }
        const Sums* chunk = lanes;
        for (std::int64_t start = 0; start < length; start += kChunk<T>) {
          for (int i = 0; i < kRows; ++i) {
            AddLanes(chunk[0], chunk[1], chunk[2], chunk[3], sums + i * sums_stride + j);
            chunk += kColumnsAdded;
          }
        }
      }
    }
  }
}

/// The same for `rows` rows, at most `kInOrderRows`.
template <typename T, Asks kAsks, int kRows = kInOrderRows>
void RunInOrder(std::int64_t rows, const OperandOf<T>* x, const TileWeight<T>& weight,
                std::int64_t depth, SumOf<T>* sums, std::int64_t sums_stride) {
  if (rows == kRows) {
    AddInOrder<T, kRows, kAsks>(x, weight, depth, sums, sums_stride);
  } else if constexpr (kRows > 1) {
    RunInOrder<T, kAsks, kRows - 1>(rows, x, weight, depth, sums, sums_stride);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_IN_ORDER_H_
