// Copies between any strides; only the size of an element matters.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_COPY_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_COPY_H_

#include "native/cpu/vector/pointwise.h"
#include "native/cpu/vector/transpose.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Side of the squares in which a transposed copy moves elements, so that both sides stay in the
/// first-level cache.
inline constexpr std::int64_t kTile = 32;

/// Copies `bytes` bytes, and asks memory for as many at `next`, which are wanted next: what lies
/// where no processor can guess it then costs no waiting.
inline void CopyAndAsk(const char* from, const char* next, std::int64_t bytes, char* to) {
  constexpr std::int64_t kLine = 64;
  std::int64_t at = 0;
  for (; at + kLine <= bytes; at += kLine) {
    __builtin_prefetch(next + at, 0, 2);
    std::memcpy(to + at, from + at, kLine);
  }
  if (at == bytes) return;
  __builtin_prefetch(next + at, 0, 2);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
}

/// Copies a matrix whose rows lie side by side in `to` and whose columns do in `from`; strides
/// count bytes.
template <typename Word>
void CopyColumns(const char* from, std::int64_t from_column, std::int64_t rows,
                 std::int64_t columns, char* to, std::int64_t to_row) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Word));
  if constexpr (kSize == 2 || kSize == 4 || kSize == 8) {
    CopyTransposed(reinterpret_cast<const Word*>(from), from_column / kSize, rows, columns,
                   reinterpret_cast<Word*>(to), to_row / kSize);
    return;
  }
  for (std::int64_t begin = 0; begin < columns; begin += kTile) {
    const std::int64_t end = columns - begin < kTile ? columns : begin + kTile;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = begin; column < end; ++column) {
        Word word;
        std::memcpy(&word, from + row * kSize + column * from_column, sizeof(word));
        std::memcpy(to + row * to_row + column * kSize, &word, sizeof(word));
      }
    }
  }
}

/// The dimension of `loop` along which the elements of the input lie side by side while those of
/// the output do along dimension 0; 0 where there is none.
inline int TransposedDimension(const StridedLoop<2>& loop, std::int64_t size) {
  if (loop.strides[0][0] != size || loop.strides[0][1] == size) return 0;
  for (int dim = 1; dim < loop.rank; ++dim) {
    if (loop.strides[dim][1] == size) return dim;
  }
  return 0;
}

/// Copies the elements of `loop`, of `size` bytes, from operand 1 to operand 0.
inline void CopyLoop(const StridedLoop<2>& loop, std::int64_t size) {
  const int dim = TransposedDimension(loop, size);
  if (dim == 0) {
    ForEachRun(loop,
               [size](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
                 if (strides[0] == size && strides[1] == size) {
                   std::memcpy(pointers[0], pointers[1], static_cast<std::size_t>(count * size));
                 } else {
                   CopyStrided(pointers[1], strides[1], pointers[0], strides[0], size, count);
                 }
               });
    return;
  }
  // Strips of rows of the matrix of the two dimensions, for each place in the others.
  const std::int64_t columns = loop.sizes[0];
  const std::int64_t strips = (loop.sizes[dim] + kTile - 1) / kTile;
  const std::int64_t matrices = loop.count / columns / loop.sizes[dim];
  const std::int64_t grain = kElementGrain / (columns * kTile);
  rt::ParallelFor(
      matrices * strips, grain > 0 ? grain : 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {
          std::int64_t rest = index / strips;
          const std::int64_t first = index % strips * kTile;
          const char* from = loop.data[1] + first * loop.strides[dim][1];
          char* to = loop.data[0] + first * loop.strides[dim][0];
          for (int other = 1; other < loop.rank; ++other) {
            if (other == dim) continue;
            from += rest % loop.sizes[other] * loop.strides[other][1];
            to += rest % loop.sizes[other] * loop.strides[other][0];
            rest /= loop.sizes[other];
          }
          const std::int64_t left = loop.sizes[dim] - first;
          const std::int64_t rows = left < kTile ? left : kTile;
          const auto copy = [&]<typename Word>(Type<Word>) {
            CopyColumns<Word>(from, loop.strides[0][1], rows, columns, to, loop.strides[dim][0]);
          };
          VisitElementSize(size, copy);
        }
      });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_COPY_H_
