// What blocked and streamed attention share: reaching keys, which keys a query sees, and the online
// softmax over blocks of keys.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_ROWS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_ROWS_H_

#include <cmath>
#include <limits>

#include "native/cpu/shared/attention.h"
#include "native/cpu/vector/dtype.h"
#include "native/cpu/vector/math.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Keys that are handled at a time: as many as a word has bits, since a word says which are seen.
inline constexpr std::int64_t kKeyBlock = 64;
using KeyBits = std::uint64_t;
inline constexpr KeyBits kAllKeys = ~KeyBits{0};

inline std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t Greatest(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline std::int64_t RoundUp(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

inline float ToFloat(float value) { return value; }
inline float ToFloat(BFloat16 value) { return Widen(value); }
inline float ToFloat(Float16 value) { return Widen(value); }

/// The bits [begin, end), which may lie outside the word.
inline KeyBits BitsBetween(std::int64_t begin, std::int64_t end) {
  if (begin < 0) begin = 0;
  if (end > kKeyBlock) end = kKeyBlock;
  if (begin >= end) return 0;
  return kAllKeys >> (kKeyBlock - (end - begin)) << begin;
}

/// Whether a head's elements are neighbours.
inline bool IsPlain(const Heads& heads, std::int64_t size) {
  return heads.element == 1 && heads.split >= size;
}

/// The first element of a token of a head.
template <typename T>
T* TokenAt(const Heads& heads, std::int64_t batch, std::int64_t head, std::int64_t token) {
  return reinterpret_cast<T*>(heads.data) + batch * heads.batch + head * heads.head +
         token * heads.token;
}

/// Copies the elements of a token to a contiguous row.
template <typename T>
void ReadToken(const Heads& heads, const T* token, std::int64_t size, T* row) {
  if (IsPlain(heads, size)) {
    std::memcpy(row, token, static_cast<std::size_t>(size) * sizeof(T));
    return;
  }
  for (std::int64_t begin = 0; begin < size; begin += heads.split) {
    const T* part = token + begin / heads.split * heads.split_stride;
    const std::int64_t end = Least(heads.split, size - begin);
    for (std::int64_t d = 0; d < end; ++d) row[begin + d] = part[d * heads.element];
  }
}

/// One key head of a sequence, and the query heads that share it.
struct Group {
  const AttentionTask& task;
  Sequence sequence;
  std::int64_t index;  // of the sequence in the batch
  std::int64_t key_head;
  std::int64_t width;  // query heads for each key head

  /// Rows of the group are ordered by query, then by head.
  std::int64_t rows() const { return sequence.queries * width; }
  std::int64_t QueryOf(std::int64_t row) const { return row / width; }
  std::int64_t HeadOf(std::int64_t row) const { return key_head * width + row % width; }

  /// The keys [first, last) that the window of a query allows.
  std::int64_t FirstKey(std::int64_t query) const {
    return Greatest(0, query + sequence.shift - task.left);
  }
  std::int64_t LastKey(std::int64_t query) const {
    return Greatest(0, Least(sequence.keys, query + sequence.shift + task.right + 1));
  }
};

/// The address of a key or value of a group.
template <typename T>
const T* KeyAt(const Group& group, const Heads& heads, std::int64_t key) {
  const AttentionTask& task = group.task;
  if (!IsPaged(task)) {
    return TokenAt<T>(heads, group.sequence.key_batch, group.key_head,
                      group.sequence.key_begin + key);
  }
  const std::int64_t page =
      task.pages.Get(group.index * task.pages_of_sequence + key / task.page_size);
  return TokenAt<T>(heads, page, group.key_head, key % task.page_size);
}

/// Points `rows` at the keys or values [begin, begin + kKeyBlock): those that are not seen at
/// `zero`, those that are not contiguous at a copy in `buffer`.
template <typename T>
void FindRows(const Group& group, const Heads& heads, std::int64_t size, std::int64_t begin,
              KeyBits seen, const T* zero, T* buffer, const T** rows) {
  const bool plain = IsPlain(heads, size);
  if (plain && !IsPaged(group.task)) {
    const T* first = KeyAt<T>(group, heads, begin);
    for (std::int64_t i = 0; i < kKeyBlock; ++i) rows[i] = first + i * heads.token;
    if (seen == kAllKeys) return;
    for (std::int64_t i = 0; i < kKeyBlock; ++i) {
      if (!(seen >> i & 1)) rows[i] = zero;
    }
    return;
  }
  for (std::int64_t i = 0; i < kKeyBlock; ++i) {
    if (!(seen >> i & 1)) {
      rows[i] = zero;
      continue;
    }
    const T* token = KeyAt<T>(group, heads, begin + i);
    if (!plain) {
      ReadToken(heads, token, size, buffer + i * size);
      token = buffer + i * size;
    }
    rows[i] = token;
  }
}

/// Which of the keys [begin, begin + kKeyBlock) a row sees. Writes what is added to their scaled
/// scores to `bias` where the mask has floats, which a key that is not seen may leave out.
inline KeyBits SeenBy(const Group& group, std::int64_t row, std::int64_t begin, float* bias) {
  const std::int64_t query = group.QueryOf(row);
  const std::int64_t first = Greatest(begin, group.FirstKey(query));
  const std::int64_t last = Least(begin + kKeyBlock, group.LastKey(query));
  KeyBits bits = BitsBetween(first - begin, last - begin);
  const AttentionMask& mask = group.task.mask;
  if (mask.data == nullptr || bits == 0) return bits;
  const std::int64_t offset =
      group.index * mask.strides[0] + group.HeadOf(row) * mask.strides[1] + query * mask.strides[2];
  const std::int64_t step = mask.strides[3];
  const auto read = [&]<typename M>(Type<M>) {
    const M* values = reinterpret_cast<const M*>(mask.data) + offset;
    for (std::int64_t key = first; key < last; ++key) {
      bias[key - begin] = ToFloat(values[key * step]);
    }
  };
  switch (mask.dtype) {
    case rt::DataType::kBool:
      for (std::int64_t key = first; key < last; ++key) {
        const bool hidden = mask.data[offset + key * step] == 0;
        bits &= ~(static_cast<KeyBits>(hidden) << (key - begin));
      }
      break;
    case rt::DataType::kFloat32:
      read(Type<float>());
      break;
    case rt::DataType::kBFloat16:
      read(Type<BFloat16>());
      break;
    default:
      read(Type<Float16>());
  }
  return bits;
}

/// What the online softmax of a row has seen so far.
struct SoftmaxRow {
  float top = -std::numeric_limits<float>::infinity();  // greatest score
  float sum = 0;                                        // of the powers, relative to `top`

  /// Of a row whose result is NaN.
  static SoftmaxRow Broken() { return {0, std::numeric_limits<float>::quiet_NaN()}; }
};

/// Scales the products `scores` of a row with a block of keys, adds `bias` where it is not null,
/// and hides the keys that are not seen behind -inf. Returns the greatest score, leaving NaN aside.
inline float ScaleScores(float scale, KeyBits seen, const float* bias, float* scores) {
  const Floats hidden = Broadcast(-std::numeric_limits<float>::infinity());
  Ints lane_bits;
  for (int lane = 0; lane < kLanes; ++lane) lane_bits[lane] = 1 << lane;
  Floats top = hidden;
  for (int v = 0; v < kKeyBlock / kLanes; ++v) {
    Floats score = Load(scores + v * kLanes) * scale;
    if (bias != nullptr) score += Load(bias + v * kLanes);
    if (seen != kAllKeys) {
      const auto bits = static_cast<std::int32_t>(seen >> (v * kLanes) & ((1u << kLanes) - 1));
      score = (lane_bits & bits) != 0 ? score : hidden;
    }
    top = score > top ? score : top;
    Store(score, scores + v * kLanes);
  }
  return GreatestLane(top);
}

/// Turns the scores of a block into powers relative to `top`, and returns their sum.
inline float TakePowers(float top, float* scores) {
  Floats sum = {};
  for (int v = 0; v < kKeyBlock / kLanes; ++v) {
    const Floats power = Exp(Load(scores + v * kLanes) - top);
    sum += power;
    Store(power, scores + v * kLanes);
  }
  return SumOfLanes(sum);
}

/// The same for a block where no score is greater than -inf: all powers are 0. Returns whether NaN
/// hid behind the comparisons.
inline bool ClearPowers(float* scores) {
  bool is_nan = false;
  for (int k = 0; k < kKeyBlock; ++k) {
    is_nan |= scores[k] != scores[k];
    scores[k] = 0;
  }
  return is_nan;
}

/// Turns the products `scores` of a row with a block of keys into powers relative to the row's new
/// greatest score; those of keys that are not seen become 0. Returns the factor by which what was
/// mixed so far shrinks. `bias` is null or added to the scaled scores.
inline float Soften(float scale, KeyBits seen, const float* bias, float* scores,
                    SoftmaxRow* state) {
  const float before = state->top;
  const float block_top = ScaleScores(scale, seen, bias, scores);
  const float now = block_top > before ? block_top : before;
  if (now == -std::numeric_limits<float>::infinity()) {
    if (ClearPowers(scores)) *state = SoftmaxRow::Broken();
    return 1;
  }
  const float sum = TakePowers(now, scores);
  const float factor = before == now ? 1.0f : Exp(Broadcast(before - now))[0];
  state->top = now;
  state->sum = state->sum * factor + sum;
  return factor;
}

/// Writes `mixed`, divided by the sum of a row's powers, as the row's result. A row that sees no
/// key becomes 0.
template <typename T>
void WriteRow(const Group& group, std::int64_t row, const float* mixed, float sum, float* buffer) {
  const Heads& out = group.task.out;
  const std::int64_t size = group.task.value_size;
  T* target = TokenAt<T>(out, group.sequence.query_batch, group.HeadOf(row),
                         group.sequence.query_begin + group.QueryOf(row));
  for (std::int64_t d = 0; d < size; ++d) buffer[d] = sum == 0 ? 0.0f : mixed[d] / sum;
  if (out.element == 1) {
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(target, buffer, static_cast<std::size_t>(size) * sizeof(float));
    } else {
      NarrowBlock(buffer, target, size);
    }
    return;
  }
  for (std::int64_t d = 0; d < size; ++d) {
    if constexpr (std::is_same_v<T, float>) {
      target[d * out.element] = buffer[d];
    } else {
      Narrow(buffer[d], target + d * out.element);
    }
  }
}

/// Hands out parts of a block of scratch memory, each aligned to 64 bytes.
class Carver {
 public:
  explicit Carver(void* begin) : next_(static_cast<char*>(begin)) {}

  template <typename T>
  T* Take(std::int64_t count) {
    T* taken = reinterpret_cast<T*>(next_);
    next_ += RoundUp(count * static_cast<std::int64_t>(sizeof(T)), 64);
    return taken;
  }

  /// Bytes taken, where the block began at null: so the same code also sizes the block.
  std::size_t bytes() const { return reinterpret_cast<std::size_t>(next_); }

 private:
  char* next_;
};

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_ROWS_H_
