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
/// keys. What lies at the same place of the rows `ahead` is wanted next.
template <typename T, int kRows>
void ScoreRows(const OperandOf<T>* x, std::int64_t x_stride, const T* const* keys,
               const T* const* ahead, std::int64_t size, float* scores) {
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
      for (int j = 0; j < kColumns; ++j) __builtin_prefetch(ahead[key + j] + k, 0, 2);
      add(k, [](const T* at) { return A::Read(at); });
    }
    if (k < size) add(k, [&](const T* at) { return ReadPart<T>(at, size - k); });
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; j += 4) {
        const FourFloats four =
            SumLanes(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        std::memcpy(scores + i * kKeyBlock + key + j, &four, sizeof(four));
      }
    }
  }
}

/// How one step of the depth of values is read from where they lie.
template <typename T>
struct ValueSteps {
  static constexpr int kDepth = PanelOf<T>::kDepth;
  static auto Read(const T* const* rows, std::int64_t step, std::int64_t at) {
    if constexpr (kDepth == 1) {
      return Load(rows[step] + at);
    } else {
#if defined(__AVX512BF16__)
      const auto read = [at](const T* row) {
        return _mm512_cvtepu16_epi32(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + at)));
      };
      return _mm512_or_si512(read(rows[2 * step]), _mm512_slli_epi32(read(rows[2 * step + 1]), 16));
#endif
    }
  }
};

/// Adds a block of values, weighted by `powers`, to `kVectors` vectors of columns of `kRows` rows
/// of `mixed`, each of which first shrinks by its factor.
template <typename T, int kRows, int kVectors>
void MixColumns(const typename PanelOf<T>::Left* powers, const T* const* values, std::int64_t at,
                const float* factors, float* mixed, std::int64_t stride) {
  using P = PanelOf<T>;
  constexpr std::int64_t kSteps = kKeyBlock / P::kDepth;
  Floats sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sums[i][j] = Load(mixed + i * stride + at + j * kLanes) * factors[i];
    }
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    typename P::Vector columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      columns[j] = ValueSteps<T>::Read(values, step, at + j * kLanes);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const typename P::Vector power = P::Spread(powers[i * kSteps + step]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = P::Add(power, columns[j], sums[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      Store(sums[i][j], mixed + i * stride + at + j * kLanes);
    }
  }
}

/// The same for all columns. `scores` are the powers before they were packed.
template <typename T, int kRows>
void MixRows(const typename PanelOf<T>::Left* powers, const float* scores, const T* const* values,
             std::int64_t size, const float* factors, float* mixed) {
  std::int64_t at = 0;
  for (; at + 4 * kLanes <= size; at += 4 * kLanes) {
    MixColumns<T, kRows, 4>(powers, values, at, factors, mixed, size);
  }
  for (; at + kLanes <= size; at += kLanes) {
    MixColumns<T, kRows, 1>(powers, values, at, factors, mixed, size);
  }
  for (; at < size; ++at) {
    for (int i = 0; i < kRows; ++i) {
      float sum = mixed[i * size + at] * factors[i];
      for (std::int64_t key = 0; key < kKeyBlock; ++key) {
        sum += scores[i * kKeyBlock + key] * ToFloat(values[key][at]);
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
  T* keys;  // copies of those that are not contiguous
  T* values;
  float* scores;
  float* bias;
  float* row;
  typename PanelOf<T>::Left* powers;

  StreamBuffers(Carver* carver, const AttentionTask& task, std::int64_t rows) {
    const std::int64_t most = Greatest(task.size, task.value_size);
    queries = carver->Take<OperandOf<T>>(rows * WholeSteps<T>(task.size));
    query = carver->Take<T>(task.size);
    zero = carver->Take<T>(most);
    keys = carver->Take<T>(kKeyBlock * task.size);
    values = carver->Take<T>(kKeyBlock * task.value_size);
    scores = carver->Take<float>(rows * kKeyBlock);
    bias = carver->Take<float>(rows * kKeyBlock);
    row = carver->Take<float>(task.value_size);
    powers = carver->Take<typename PanelOf<T>::Left>(rows * kKeyBlock);
  }
};

/// Attends all rows of a group, at most `kStreamRows`, to the keys [first, last).
template <typename T>
void StreamChunk(const Group& group, std::int64_t first, std::int64_t last,
                 const StreamBuffers<T>& buffers, const Partial& partial) {
  const AttentionTask& task = group.task;
  const std::int64_t rows = group.rows();
  std::memset(buffers.zero, 0,
              static_cast<std::size_t>(Greatest(task.size, task.value_size)) * sizeof(T));
  std::memset(partial.mixed, 0, static_cast<std::size_t>(rows * task.value_size) * sizeof(float));
  const std::int64_t steps = WholeSteps<T>(task.size);
  std::memset(buffers.queries, 0, static_cast<std::size_t>(rows * steps) * sizeof(OperandOf<T>));
  float* bias =
      task.mask.data != nullptr && task.mask.dtype != rt::DataType::kBool ? buffers.bias : nullptr;
  if (bias != nullptr) {
    std::memset(bias, 0, static_cast<std::size_t>(rows * kKeyBlock) * sizeof(float));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    partial.states[row] = {};
    const T* query = TokenAt<T>(task.query, group.sequence.query_batch, group.HeadOf(row),
                                group.sequence.query_begin + group.QueryOf(row));
    ReadToken(task.query, query, task.size, buffers.query);
    for (std::int64_t d = 0; d < task.size; ++d) {
      if constexpr (std::is_same_v<OperandOf<T>, T>) {
        buffers.queries[row * steps + d] = buffers.query[d];
      } else {
        buffers.queries[row * steps + d] = Widen(buffers.query[d]);
      }
    }
  }
  for (std::int64_t begin = first; begin < last; begin += kKeyBlock) {
    const KeyBits inside = BitsBetween(0, last - begin);
    KeyBits seen[kStreamRows];
    KeyBits any = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      seen[row] = inside & SeenBy(group, row, begin, bias + row * kKeyBlock);
      any |= seen[row];
    }
    if (any == 0) continue;
    const T* keys[kKeyBlock];
    const T* values[kKeyBlock];
    FindRows(group, task.key, task.size, begin, any, buffers.zero, buffers.keys, keys);
    FindRows(group, task.value, task.value_size, begin, any, buffers.zero, buffers.values, values);
    VisitRows(rows, [&]<int kRows>(std::int64_t row, std::integral_constant<int, kRows>) {
      ScoreRows<T, kRows>(buffers.queries + row * steps, steps, keys, values, task.size,
                          buffers.scores + row * kKeyBlock);
    });
    float factors[kStreamRows];
    constexpr std::int64_t kSteps = kKeyBlock / PanelOf<T>::kDepth;
    for (std::int64_t row = 0; row < rows; ++row) {
      float* scores = buffers.scores + row * kKeyBlock;
      factors[row] =
          Soften(task.scale, seen[row], bias == nullptr ? nullptr : bias + row * kKeyBlock, scores,
                 partial.states + row);
      PackLeft<T>(scores, kKeyBlock, buffers.powers + row * kSteps);
    }
    VisitRows(rows, [&]<int kRows>(std::int64_t row, std::integral_constant<int, kRows>) {
      MixRows<T, kRows>(buffers.powers + row * kSteps, buffers.scores + row * kKeyBlock, values,
                        task.value_size, factors + row, partial.mixed + row * task.value_size);
    });
  }
}

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
