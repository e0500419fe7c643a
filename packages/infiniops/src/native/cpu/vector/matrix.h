// Dot products of rows: the inner kernel of matrix products.
//
// The inner dimension is cut into chunks of a fixed length. Within a chunk, each lane of a vector
// adds up its own products in order; then the lanes are added, in a fixed order; then the chunks,
// from the first to the last. Neither tile sizes nor neighbours change that, so a result depends on
// its two rows alone.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_

#include <cstdint>
#include <cstring>

#include "native/cpu/vector/simd.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// How rows stored as `T` are multiplied, `kStep` elements at a time. `Operand` is what the left
/// operand is packed as, `Sum` what products are added in.
template <typename T>
struct Arithmetic {
  using Operand = float;
  using Sum = float;
  using Vector = Floats;
  using Sums = Floats;
  static constexpr std::int64_t kStep = kLanes;
  static Vector Read(const T* values) { return Load(values); }
  static Sums Add(Vector a, Vector b, Sums sum) { return MultiplyAdd(a, b, sum); }
};

template <>
struct Arithmetic<double> {
  using Operand = double;
  using Sum = double;
  using Vector = Doubles;
  using Sums = Doubles;
  static constexpr std::int64_t kStep = kLanes / 2;
  static Vector Read(const double* values) { return Load(values); }
  static Sums Add(Vector a, Vector b, Sums sum) { return MultiplyAdd(a, b, sum); }
};

#if defined(__AVX512BF16__)
/// Multiplies pairs of neighbours exactly and adds both to a float lane; subnormal inputs count as
/// zero.
template <>
struct Arithmetic<BFloat16> {
  using Operand = BFloat16;
  using Sum = float;
  using Vector = __m512i;
  using Sums = Floats;
  static constexpr std::int64_t kStep = 32;
  static Vector Read(const BFloat16* values) { return _mm512_loadu_si512(values); }
  static Sums Add(Vector a, Vector b, Sums sum) {
    return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, a), __builtin_bit_cast(__m512bh, b));
  }
};
#endif

template <typename T>
using OperandOf = typename Arithmetic<T>::Operand;
template <typename T>
using SumOf = typename Arithmetic<T>::Sum;

/// Elements of a chunk of the inner dimension: 2 KiB of the left operand. A tile's rows of a chunk
/// fit the first-level cache.
template <typename T>
inline constexpr std::int64_t kChunk = 2048 / static_cast<std::int64_t>(sizeof(OperandOf<T>));

/// `count` rounded up to whole steps.
template <typename T>
constexpr std::int64_t WholeSteps(std::int64_t count) {
  constexpr std::int64_t kStep = Arithmetic<T>::kStep;
  return (count + kStep - 1) / kStep * kStep;
}

/// Most rows of the left operand that a tile keeps in registers.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kMaxTileRows = 6;
#else
inline constexpr int kMaxTileRows = 3;
#endif

/// Most rows of a tile that computes 8 columns at once, others compute 4: enough to keep the
/// multipliers busy.
inline constexpr int kMaxWideTileRows = kMaxTileRows / 3;

/// Columns of the tiles for `rows` rows.
constexpr int TileColumns(std::int64_t rows) { return rows <= kMaxWideTileRows ? 8 : 4; }

/// Most columns of a tile; what tiles add to has room for whole tiles.
inline constexpr std::int64_t kMaxTileColumns = 8;

/// The right operand of a tile: rows stored as they are, `stride` elements apart. Those past
/// `count` repeat the last one, and their results mean nothing. What lies `ahead` elements further
/// is wanted soon, where the tile streams.
template <typename T>
struct TileWeight {
  const T* data;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t ahead = 0;
};

/// Bytes that a stream asks memory for before it needs them.
inline constexpr std::int64_t kAheadBytes = 16 * 1024;

/// How far ahead a stream asks memory for what it needs, for rows of `row_bytes` bytes that lie
/// `stride` units apart: the same place of a later tile, of `columns` rows, at least `kAheadBytes`
/// on.
constexpr std::int64_t StreamAhead(std::int64_t row_bytes, std::int64_t stride,
                                   std::int64_t columns) {
  const std::int64_t tile_bytes = columns * (row_bytes > 0 ? row_bytes : 1);
  return (kAheadBytes + tile_bytes - 1) / tile_bytes * columns * stride;
}

/// Reads the first `count` elements of a step, the others as zeros.
template <typename T>
typename Arithmetic<T>::Vector ReadPart(const T* values, std::int64_t count) {
#if defined(__AVX512F__)
  using Vector = typename Arithmetic<T>::Vector;
  if constexpr (sizeof(T) == 1) {
    T step[16];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(step),
                     _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << count) - 1), values));
    return Arithmetic<T>::Read(step);
  } else if constexpr (sizeof(T) == 2) {
    const __m512i bits = _mm512_maskz_loadu_epi16((1u << count) - 1, values);
    T step[32];
    _mm512_storeu_si512(step, bits);
    return Arithmetic<T>::Read(step);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(
        Vector, _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), values));
  } else {
    return __builtin_bit_cast(
        Vector, _mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << count) - 1), values));
  }
#else
  T step[Arithmetic<T>::kStep] = {};
  std::memcpy(step, values, static_cast<std::size_t>(count) * sizeof(T));
  return Arithmetic<T>::Read(step);
#endif
}

/// Where the rows of a weight come from: caches; memory, which is read nearly in order where they
/// are short; memory, at several far places where they are long.
enum class Source { kCaches, kShortRows, kLongRows };

/// Rows of so many bytes are long: they fill a page of memory.
inline constexpr std::int64_t kLongRowBytes = 4096;

constexpr Source SourceOfStream(std::int64_t row_bytes) {
  return row_bytes < kLongRowBytes ? Source::kShortRows : Source::kLongRows;
}

/// Bytes that a tile of many products asks the second-level cache for before it needs them, in long
/// rows: it waits for that cache as well, with less that it could do meanwhile.
inline constexpr std::int64_t kSoonBytes = 512;
constexpr bool AsksForSoon(int rows, Source source) {
  return rows > 2 && source == Source::kLongRows;
}

/// Columns of the weight that a tile reads at the same time: all, which shares what is read of x,
/// or a few after each other, where a stream then reads memory nearly in order and x costs little.
template <typename T>
constexpr int ColumnsTogether(int rows, int columns, Source source) {
  return source == Source::kShortRows && columns == 4 && rows == 4 && sizeof(T) > 1 ? 2 : columns;
}

/// Adds to `sums`, whose rows are `sums_stride` apart, the dot products of `kRows` rows with
/// `kColumns` rows over one chunk of `depth` elements. `x` holds its rows interleaved by steps, the
/// last one filled up with zeros.
template <typename T, int kRows, int kColumns, Source kSource>
void Tile(const OperandOf<T>* x, const TileWeight<T>& weight, std::int64_t depth, SumOf<T>* sums,
          std::int64_t sums_stride) {
  static_assert(kColumns % 4 == 0 && kColumns <= kMaxTileColumns);
  using A = Arithmetic<T>;
  constexpr bool kStreams = kSource != Source::kCaches;
  constexpr int kTogether = ColumnsTogether<T>(kRows, kColumns, kSource);
  typename A::Sums lanes[kRows][kColumns] = {};
#pragma GCC unroll 4
  for (int first = 0; first < kColumns; first += kTogether) {
    const T* w[kTogether];
#pragma GCC unroll 8
    for (int j = 0; j < kTogether; ++j) {
      const std::int64_t row = first + j;
      w[j] = weight.data + (row < weight.count ? row : weight.count - 1) * weight.stride;
    }
    const auto add = [&](const OperandOf<T>* x_step, const auto& w_step) {
      typename A::Vector columns[kTogether];
#pragma GCC unroll 8
      for (int j = 0; j < kTogether; ++j) columns[j] = w_step(j);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const auto row = Arithmetic<OperandOf<T>>::Read(x_step + i * A::kStep);
#pragma GCC unroll 8
        for (int j = 0; j < kTogether; ++j) {
          lanes[i][first + j] = A::Add(row, columns[j], lanes[i][first + j]);
        }
      }
    };
    const auto add_whole = [&](std::int64_t k) {
      add(x + k * kRows, [&](int j) { return A::Read(w[j] + k); });
    };
    std::int64_t k = 0;
    if constexpr (kStreams) {
      constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
      constexpr std::int64_t kStride = 64 / kSize > A::kStep ? 64 / kSize : A::kStep;
      for (; k + kStride <= depth; k += kStride) {
        // To the second-level cache: the first has too few places for what is on its way.
#pragma GCC unroll 8
        for (int j = 0; j < kTogether; ++j) __builtin_prefetch(w[j] + k + weight.ahead, 0, 2);
        if constexpr (AsksForSoon(kRows, kSource)) {
#pragma GCC unroll 8
          for (int j = 0; j < kTogether; ++j) {
            __builtin_prefetch(w[j] + k + kSoonBytes / kSize, 0, 3);
          }
        }
#pragma GCC unroll 4
        for (std::int64_t step = 0; step < kStride; step += A::kStep) add_whole(k + step);
      }
    }
    if (kStreams && k < depth) {
#pragma GCC unroll 8
      for (int j = 0; j < kTogether; ++j) __builtin_prefetch(w[j] + depth - 1 + weight.ahead, 0, 2);
    }
    for (; k + A::kStep <= depth; k += A::kStep) add_whole(k);
    if (k < depth) {
      add(x + k * kRows, [&](int j) { return ReadPart<T>(w[j] + k, depth - k); });
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; j += 4) {
      AddLanes(lanes[i][j], lanes[i][j + 1], lanes[i][j + 2], lanes[i][j + 3],
               sums + i * sums_stride + j);
    }
  }
}

/// Runs the tile for `rows`, at most `kMaxTileRows` (`kMaxWideTileRows` for 8 columns).
template <typename T, int kColumns, Source kSource,
          int kRows = kColumns == 8 ? kMaxWideTileRows : kMaxTileRows>
void RunTile(std::int64_t rows, const OperandOf<T>* x, const TileWeight<T>& weight,
             std::int64_t depth, SumOf<T>* sums, std::int64_t sums_stride) {
  if (rows == kRows) {
    Tile<T, kRows, kColumns, kSource>(x, weight, depth, sums, sums_stride);
  } else if constexpr (kRows > 1) {
    RunTile<T, kColumns, kSource, kRows - 1>(rows, x, weight, depth, sums, sums_stride);
  }
}

/// Adds to `sums` the products of `rows` packed rows, strip after strip, with `kColumns` rows of
/// the weight over one chunk.
template <typename T, int kColumns, Source kSource>
void AddColumns(const OperandOf<T>* x, std::int64_t rows, const TileWeight<T>& weight,
                std::int64_t depth, SumOf<T>* sums, std::int64_t sums_stride) {
  constexpr std::int64_t kStrip = kColumns == 8 ? kMaxWideTileRows : kMaxTileRows;
  const std::int64_t padded = WholeSteps<T>(depth);
  for (std::int64_t strip = 0; strip < rows; strip += kStrip) {
    const std::int64_t count = rows - strip < kStrip ? rows - strip : kStrip;
    RunTile<T, kColumns, kSource>(count, x + strip * padded, weight, depth,
                                  sums + strip * sums_stride, sums_stride);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_MATRIX_H_
