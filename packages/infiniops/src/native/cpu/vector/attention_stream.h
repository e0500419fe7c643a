// Attention of few queries: every key and value is read once, for all queries that share it.
//
// Scores are dot products of rows as they lie in memory; nothing is packed. A long sequence is
// split into chunks of fixed length, whose results are combined in order.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_STREAM_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_STREAM_H_

#include "native/cpu/vector/attention_rows.h"
#include "native/cpu/vector/matrix.h"
#include "native/cpu/vector/panel.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Most rows of a group that are streamed; with more, blocks pay.
inline constexpr std::int64_t kStreamRows = 16;
/// Keys of a chunk.
inline constexpr std::int64_t kChunkKeys = 512;
/// How far ahead keys and values are fetched.
inline constexpr std::int64_t kAheadKeys = 32;

/// Rows that a pass over a block of keys takes at a time.
inline constexpr int kStreamTile = kMaxTileRows >= 4 ? 4 : 2;

/// What a chunk leaves: for each row of the group its softmax, and its mixed values.
struct Partial {
  SoftmaxRow* states;
  float* mixed;  // `value_size` for each row

  /// Floats that it takes.
  static std::int64_t Size(std::int64_t rows, std::int64_t value_size) {
    return rows * (value_size + 2);
  }
  static Partial At(float* memory, std::int64_t rows) {
    return {reinterpret_cast<SoftmaxRow*>(memory), memory + 2 * rows};
  }
};

/// Writes the products of `kRows` rows `x`, filled up with zeros to whole steps, with a block of
/// keys. What lies `ahead` elements further is wanted next.
template <typename T, int kRows>
void ScoreRows(const OperandOf<T>* x, std::int64_t x_stride, const T* const* keys,
               std::int64_t ahead, std::int64_t size, float* scores) {
  using A = Arithmetic<T>;
  constexpr int kColumns = kRows >= 4 ? 4 : 8;
  for (std::int64_t key = 0; key < kKeyBlock; key += kColumns) {
    Floats sums[kRows][kColumns] = {};
    const auto add = [&](std::int64_t k, const auto& read) {
      typename A::Vector columns[kColumns];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) columns[j] = read(keys[key + j] + k);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const auto row = Arithmetic<OperandOf<T>>::Read(x + i * x_stride + k);
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) sums[i][j] = A::Add(row, columns[j], sums[i][j]);
      }
    };
    std::int64_t k = 0;
    for (; k + A::kStep <= size; k += A::kStep) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) __builtin_prefetch(keys[key + j] + k + ahead, 0, 2);
      add(k, [](const T* at) { return A::Read(at); });
    }
    if (k < size) add(k, [&](const T* at) { return ReadPart<T>(at, size - k); });
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; j += 4) {
        const FourFloats four =
            SumLanes(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        std::memcpy(scores + i * kChunkKeys + key + j, &four, sizeof(four));
      }
    }
  }
}

/// Vectors of columns of values, as steps of the depth are multiplied: `kVectors` of them from
/// column `at` of the rows of step `step`.
template <typename T, int kVectors>
void ReadValues(const T* const* rows, std::int64_t step, std::int64_t at,
                typename PanelOf<T>::Vector (&columns)[kVectors]) {
  if constexpr (PanelOf<T>::kDepth == 1) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) columns[j] = Load(rows[step] + at + j * kLanes);
  } else {
#if defined(__AVX512BF16__)
    const T* even = rows[2 * step] + at;
    const T* odd = rows[2 * step + 1] + at;
    if constexpr (kVectors == 1) {
      const auto read = [](const T* row) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
      };
      columns[0] = _mm512_or_si512(read(even), _mm512_slli_epi32(read(odd), 16));
    } else {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; j += 2) {
        const __m512i a = _mm512_loadu_si512(even + j * kLanes);
        const __m512i b = _mm512_loadu_si512(odd + j * kLanes);
        columns[j] = _mm512_unpacklo_epi16(a, b);  // in another order, see `Reorder`
        columns[j + 1] = _mm512_unpackhi_epi16(a, b);
      }
    }
#endif
  }
}

/// Brings sums of the columns of `ReadValues` to the order of the columns, or (`back`) from it.
template <typename T, int kVectors>
void Reorder([[maybe_unused]] Floats (&sums)[kVectors], [[maybe_unused]] bool back) {
#if defined(__AVX512BF16__)
  if constexpr (PanelOf<T>::kDepth == 2 && kVectors > 1) {
    // Interleaving works within 128 bits: fours of columns alternate between two vectors.
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; j += 2) {
      const Floats low = sums[j];
      const Floats high = sums[j + 1];
      if (back) {
        sums[j] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24,
                                          25, 26, 27);
        sums[j + 1] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23,
                                              28, 29, 30, 31);
      } else {
        sums[j] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21,
                                          22, 23);
        sums[j + 1] = __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14,
                                              15, 28, 29, 30, 31);
      }
    }
  }
#endif
}

/// Adds a block of values, weighted by `powers`, to `kVectors` vectors of columns of `kRows` rows
/// of `mixed`. What lies `ahead` elements further is wanted next.
template <typename T, int kRows, int kVectors>
void MixColumns(const typename PanelOf<T>::Left* powers, const T* const* values, std::int64_t ahead,
                std::int64_t at, float* mixed, std::int64_t stride) {
  using P = PanelOf<T>;
  constexpr std::int64_t kSteps = kKeyBlock / P::kDepth;
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  Floats sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Load(mixed + i * stride + at + j * kLanes);
    Reorder<T>(sums[i], true);
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    typename P::Vector columns[kVectors];
    ReadValues<T>(values, step, at, columns);
#pragma GCC unroll 2
    for (int half = 0; half < P::kDepth; ++half) {
      const T* next = values[step * P::kDepth + half] + at + ahead;
#pragma GCC unroll 4
      for (std::int64_t line = 0; line < kVectors * kLanes; line += kLine) {
        __builtin_prefetch(next + line, 0, 2);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const typename P::Vector power = P::Spread(powers[i * (kChunkKeys / P::kDepth) + step]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = P::Add(power, columns[j], sums[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    Reorder<T>(sums[i], false);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      Store(sums[i][j], mixed + i * stride + at + j * kLanes);
    }
  }
}

/// The same for all columns. `scores` are the powers before they were packed.
template <typename T, int kRows>
void MixRows(const typename PanelOf<T>::Left* powers, const float* scores, const T* const* values,
             std::int64_t ahead, std::int64_t size, float* mixed) {
  std::int64_t at = 0;
  for (; at + 4 * kLanes <= size; at += 4 * kLanes) {
    MixColumns<T, kRows, 4>(powers, values, ahead, at, mixed, size);
  }
  for (; at + kLanes <= size; at += kLanes) {
    MixColumns<T, kRows, 1>(powers, values, ahead, at, mixed, size);
  }
  for (; at < size; ++at) {
    for (int i = 0; i < kRows; ++i) {
      float sum = mixed[i * size + at];
      for (std::int64_t key = 0; key < kKeyBlock; ++key) {
        sum += scores[i * kChunkKeys + key] * ToFloat(values[key][at]);
      }
      mixed[i * size + at] = sum;
    }
  }
}

/// Calls `visitor(row, std::integral_constant<int, n>())` for runs of n rows that cover [0, rows).
template <typename Visitor>
void VisitRows(std::int64_t rows, Visitor visitor) {
  std::int64_t row = 0;
  for (; row + kStreamTile <= rows; row += kStreamTile) {
    visitor(row, std::integral_constant<int, kStreamTile>());
  }
  if constexpr (kStreamTile > 2) {
    for (; row + 2 <= rows; row += 2) visitor(row, std::integral_constant<int, 2>());
  }
  if (row < rows) visitor(row, std::integral_constant<int, 1>());
}

/// The memory that a chunk works in.
template <typename T>
struct StreamBuffers {
  OperandOf<T>* queries;  // rows of whole steps
  T* query;
  T* zero;
  T* copies;  // of keys or values that are not contiguous
  float* scores;
  float* bias;
  float* row;
  typename PanelOf<T>::Left* powers;

  StreamBuffers(Carver* carver, const AttentionTask& task, std::int64_t rows) {
    const std::int64_t most = Greatest(task.size, task.value_size);
    queries = carver->Take<OperandOf<T>>(rows * WholeSteps<T>(task.size));
    query = carver->Take<T>(task.size);
    zero = carver->Take<T>(most);
    copies = carver->Take<T>(kKeyBlock * most);
    scores = carver->Take<float>(rows * kChunkKeys);
    bias = carver->Take<float>(task.mask.data != nullptr ? rows * kChunkKeys : 0);
    row = carver->Take<float>(task.value_size);
    powers = carver->Take<typename PanelOf<T>::Left>(rows * kChunkKeys);
  }
};

/// Attends all rows of a group, at most `kStreamRows`, to the keys of one chunk: first all scores,
/// block by block, then all values, so that each is read as one stream.
template <typename T>
class StreamedChunk {
 public:
  StreamedChunk(const Group& group, std::int64_t first, std::int64_t last,
                const StreamBuffers<T>& buffers, const Partial& partial)
      : group_(group),
        task_(group.task),
        buffers_(buffers),
        partial_(partial),
        rows_(group.rows()),
        first_(first),
        blocks_((last - first + kKeyBlock - 1) / kKeyBlock) {
    if (task_.mask.data != nullptr && task_.mask.dtype != rt::DataType::kBool) {
      bias_ = buffers.bias;
      Clear(bias_, rows_ * kChunkKeys);
    }
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t begin = first + block * kKeyBlock;
      any_[block] = 0;
      for (std::int64_t row = 0; row < rows_; ++row) {
        float* bias = bias_ == nullptr ? nullptr : bias_ + row * kChunkKeys + block * kKeyBlock;
        seen_[block][row] = SeenBy(group, row, begin, bias) & BitsBetween(0, last - begin);
        any_[block] |= seen_[block][row];
      }
    }
    Clear(buffers_.zero, Greatest(task_.size, task_.value_size));
    Clear(partial_.mixed, rows_ * task_.value_size);
    ReadQueries();
  }

  std::int64_t blocks() const { return blocks_; }

  void ScoreBlock(std::int64_t block) {
    if (any_[block] == 0) return;
    const std::int64_t steps = WholeSteps<T>(task_.size);
    const std::int64_t ahead = AheadOf(task_.key, task_.size);
    const T* keys[kKeyBlock];
    FindRows(group_, task_.key, task_.size, first_ + block * kKeyBlock, any_[block], buffers_.zero,
             buffers_.copies, keys);
    VisitRows(rows_, [&]<int kRows>(std::int64_t row, std::integral_constant<int, kRows>) {
      ScoreRows<T, kRows>(buffers_.queries + row * steps, steps, keys, row == 0 ? ahead : 0,
                          task_.size, buffers_.scores + row * kChunkKeys + block * kKeyBlock);
    });
  }

  /// Makes powers of the scores of all blocks.
  void Soften() {
    for (std::int64_t row = 0; row < rows_; ++row) SoftenRow(row);
  }

  void MixBlock(std::int64_t block) {
    if (any_[block] == 0) return;
    const std::int64_t ahead = AheadOf(task_.value, task_.value_size);
    const T* values[kKeyBlock];
    FindRows(group_, task_.value, task_.value_size, first_ + block * kKeyBlock, any_[block],
             buffers_.zero, buffers_.copies, values);
    VisitRows(rows_, [&]<int kRows>(std::int64_t row, std::integral_constant<int, kRows>) {
      const std::int64_t at = row * kChunkKeys + block * kKeyBlock;
      MixRows<T, kRows>(buffers_.powers + at / PanelOf<T>::kDepth, buffers_.scores + at, values,
                        row == 0 ? ahead : 0, task_.value_size,
                        partial_.mixed + row * task_.value_size);
    });
  }

  /// Writes the outputs of a sequence of one chunk.
  void Write() const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      WriteRow<T>(group_, row, partial_.mixed + row * task_.value_size, partial_.states[row].sum,
                  buffers_.row);
    }
  }

 private:
  template <typename E>
  static void Clear(E* memory, std::int64_t count) {
    std::memset(memory, 0, static_cast<std::size_t>(count) * sizeof(E));
  }

  /// How far ahead rows of `heads` are wanted; 0 where they do not follow one another.
  std::int64_t AheadOf(const Heads& heads, std::int64_t size) const {
    return IsPlain(heads, size) && !IsPaged(task_) ? kAheadKeys * heads.token : 0;
  }

  void ReadQueries() {
    const std::int64_t steps = WholeSteps<T>(task_.size);
    Clear(buffers_.queries, rows_ * steps);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const T* query = TokenAt<T>(task_.query, group_.sequence.query_batch, group_.HeadOf(row),
                                  group_.sequence.query_begin + group_.QueryOf(row));
      ReadToken(task_.query, query, task_.size, buffers_.query);
      for (std::int64_t d = 0; d < task_.size; ++d) {
        if constexpr (std::is_same_v<OperandOf<T>, T>) {
          buffers_.queries[row * steps + d] = buffers_.query[d];
        } else {
          buffers_.queries[row * steps + d] = Widen(buffers_.query[d]);
        }
      }
    }
  }

  void SoftenRow(std::int64_t row) {
    float* scores = buffers_.scores + row * kChunkKeys;
    SoftmaxRow state;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (any_[block] == 0) continue;
      const std::int64_t at = block * kKeyBlock;
      const float* bias = bias_ == nullptr ? nullptr : bias_ + row * kChunkKeys + at;
      const float top = ScaleScores(task_.scale, seen_[block][row], bias, scores + at);
      state.top = top > state.top ? top : state.top;
    }
    const bool none = state.top == -std::numeric_limits<float>::infinity();
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (any_[block] == 0) continue;
      const std::int64_t at = block * kKeyBlock;
      if (!none) {
        state.sum += TakePowers(state.top, scores + at);
      } else if (ClearPowers(scores + at)) {
        state = SoftmaxRow::Broken();
      }
      PackLeft<T>(scores + at, kKeyBlock,
                  buffers_.powers + (row * kChunkKeys + at) / PanelOf<T>::kDepth);
    }
    partial_.states[row] = state;
  }

  const Group group_;
  const AttentionTask& task_;
  const StreamBuffers<T> buffers_;
  const Partial partial_;
  const std::int64_t rows_;
  const std::int64_t first_;
  const std::int64_t blocks_;
  float* bias_ = nullptr;
  KeyBits any_[kChunkKeys / kKeyBlock];
  KeyBits seen_[kChunkKeys / kKeyBlock][kStreamRows];
};

/// Combines the `chunks` partial results of a group, which lie one after another, and writes them.
template <typename T>
void CombineChunks(const Group& group, float* partials, std::int64_t chunks) {
  const std::int64_t size = group.task.value_size;
  const std::int64_t rows = group.rows();
  const std::int64_t step = Partial::Size(rows, size);
  auto* mixed = static_cast<float*>(
      Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(2 * size + 1) * sizeof(float)));
  for (std::int64_t row = 0; row < rows; ++row) {
    SoftmaxRow whole;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const float top = Partial::At(partials + chunk * step, rows).states[row].top;
      whole.top = top > whole.top ? top : whole.top;
    }
    for (std::int64_t d = 0; d < size; ++d) mixed[d] = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Partial part = Partial::At(partials + chunk * step, rows);
      if (part.states[row].top == -std::numeric_limits<float>::infinity()) continue;
      const float factor = Exp(Broadcast(part.states[row].top - whole.top))[0];
      whole.sum += part.states[row].sum * factor;
      const float* values = part.mixed + row * size;
      for (std::int64_t d = 0; d < size; ++d) mixed[d] += values[d] * factor;
    }
    WriteRow<T>(group, row, mixed, whole.sum, mixed + size);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_STREAM_H_
