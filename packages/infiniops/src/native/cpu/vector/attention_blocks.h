// Attention of many queries: tiles of queries against blocks of keys, both packed.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_BLOCKS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_BLOCKS_H_

#include "native/cpu/vector/attention_rows.h"
#include "native/cpu/vector/panel.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Rows of a group that a tile holds.
inline constexpr std::int64_t kTileRows = 128;
/// The same, and those that fill the last panel.
inline constexpr std::int64_t kPaddedRows = (kTileRows + kPanelRows - 1) / kPanelRows * kPanelRows;

/// Sizes of a tile's operands: steps of the depth of scores, and padded columns of values.
template <typename T>
struct TileSizes {
  std::int64_t score_steps;
  std::int64_t columns;
  static constexpr std::int64_t kMixSteps = kKeyBlock / PanelOf<T>::kDepth;

  explicit TileSizes(const AttentionTask& task)
      : score_steps(StepsOf<T>(task.size)), columns(RoundUp(task.value_size, kLanes)) {}
};

/// The memory that a tile works in.
template <typename T>
struct TileBuffers {
  using Left = typename PanelOf<T>::Left;
  using Right = typename PanelOf<T>::Right;
  Left* queries;  // a row for each row of the tile
  Right* keys;    // packed columns
  Right* values;  // packed steps
  float* scores;  // kKeyBlock for each row
  Left* powers;
  float* bias;
  float* mixed;  // `columns` for each row
  float* row;
  T* zero;
  T* copies;

  TileBuffers(Carver* carver, const AttentionTask& task) {
    const TileSizes<T> sizes(task);
    const std::int64_t most = Greatest(task.size, task.value_size);
    queries = carver->Take<Left>(kPaddedRows * sizes.score_steps);
    keys = carver->Take<Right>(kKeyBlock * sizes.score_steps);
    values = carver->Take<Right>(sizes.kMixSteps * sizes.columns);
    scores = carver->Take<float>(kPaddedRows * kKeyBlock);
    powers = carver->Take<Left>(kPaddedRows * sizes.kMixSteps);
    bias = carver->Take<float>(task.mask.data != nullptr ? kPaddedRows * kKeyBlock : 0);
    mixed = carver->Take<float>(kPaddedRows * sizes.columns);
    row = carver->Take<float>(task.value_size);
    zero = carver->Take<T>(most);
    copies = carver->Take<T>(kKeyBlock * most);
  }
};

/// The rows [begin, begin + count) of a group against all the keys that they see.
template <typename T>
class BlockedTile {
 public:
  BlockedTile(const Group& group, std::int64_t begin, std::int64_t count,
              const TileBuffers<T>& buffers)
      : group_(group),
        task_(group.task),
        sizes_(group.task),
        buffers_(buffers),
        begin_(begin),
        count_(count),
        padded_(RoundUp(count, kPanelRows)) {}

  void Run() {
    Start();
    // Rows are ordered by query, so the first one sees the first key and the last one the last.
    const std::int64_t first = group_.FirstKey(group_.QueryOf(begin_)) / kKeyBlock * kKeyBlock;
    const std::int64_t last = group_.LastKey(group_.QueryOf(begin_ + count_ - 1));
    for (std::int64_t key = first; key < last; key += kKeyBlock) AddBlock(key);
    for (std::int64_t row = 0; row < count_; ++row) {
      WriteRow<T>(group_, begin_ + row, buffers_.mixed + row * sizes_.columns, states_[row].sum,
                  buffers_.row);
    }
  }

 private:
  using Left = typename PanelOf<T>::Left;
  using Right = typename PanelOf<T>::Right;

  void Start() {
    const auto clear = [](auto* memory, std::int64_t count) {
      std::memset(memory, 0, static_cast<std::size_t>(count) * sizeof(*memory));
    };
    clear(buffers_.zero, Greatest(task_.size, task_.value_size));
    clear(buffers_.mixed, padded_ * sizes_.columns);
    clear(buffers_.scores, padded_ * kKeyBlock);
    clear(buffers_.powers, padded_ * sizes_.kMixSteps);
    clear(buffers_.queries, padded_ * sizes_.score_steps);
    for (std::int64_t row = 0; row < padded_; ++row) {
      states_[row] = {};
      factors_[row] = 1;
    }
    if (task_.mask.data != nullptr && task_.mask.dtype != rt::DataType::kBool) {
      bias_ = buffers_.bias;
      clear(bias_, padded_ * kKeyBlock);
    }
    for (std::int64_t row = 0; row < count_; ++row) {
      const T* query =
          TokenAt<T>(task_.query, group_.sequence.query_batch, group_.HeadOf(begin_ + row),
                     group_.sequence.query_begin + group_.QueryOf(begin_ + row));
      if (!IsPlain(task_.query, task_.size)) {
        ReadToken(task_.query, query, task_.size, buffers_.copies);
        query = buffers_.copies;
      }
      Left* packed = buffers_.queries + row * sizes_.score_steps;
      for (std::int64_t k = 0; k < sizes_.score_steps; ++k) {
        packed[k] = StepAt(query, k * PanelOf<T>::kDepth, task_.size);
      }
    }
  }

  /// Adds what the keys [key, key + kKeyBlock) contribute.
  void AddBlock(std::int64_t key) {
    KeyBits any = 0;
    std::int64_t first = count_;  // rows that see a key are in [first, last)
    std::int64_t last = 0;
    for (std::int64_t row = 0; row < count_; ++row) {
      float* bias = bias_ == nullptr ? nullptr : bias_ + row * kKeyBlock;
      seen_[row] = SeenBy(group_, begin_ + row, key, bias);
      if (seen_[row] == 0) continue;
      any |= seen_[row];
      first = Least(first, row);
      last = row + 1;
    }
    if (any == 0) return;
    first = first / kPanelRows * kPanelRows;
    const std::int64_t rows = RoundUp(last - first, kPanelRows);
    for (std::int64_t row = count_; row < padded_; ++row) seen_[row] = 0;

    const T* found[kKeyBlock];
    FindRows(group_, task_.key, task_.size, key, any, buffers_.zero, buffers_.copies, found);
    PackColumns(found, kKeyBlock, task_.size, buffers_.keys);
    Multiply<T>({buffers_.queries + first * sizes_.score_steps, sizes_.score_steps},
                {buffers_.keys, kKeyBlock}, sizes_.score_steps, rows, kKeyBlock, nullptr,
                buffers_.scores + first * kKeyBlock, kKeyBlock);
    for (std::int64_t row = first; row < first + rows; ++row) {
      float* scores = buffers_.scores + row * kKeyBlock;
      if (seen_[row] == 0) {
        std::memset(scores, 0, kKeyBlock * sizeof(float));
        factors_[row] = 1;
      } else {
        factors_[row] =
            Soften(task_.scale, seen_[row], bias_ == nullptr ? nullptr : bias_ + row * kKeyBlock,
                   scores, states_ + row);
      }
      if constexpr (PanelOf<T>::kDepth > 1) {
        PackLeft<T>(scores, kKeyBlock, buffers_.powers + row * sizes_.kMixSteps);
      }
    }
    const RightSteps<T> values = Values(key, any);
    Multiply<T>({Powers() + first * sizes_.kMixSteps, sizes_.kMixSteps}, values, sizes_.kMixSteps,
                rows, sizes_.columns, factors_ + first, buffers_.mixed + first * sizes_.columns,
                sizes_.columns);
  }

  /// The powers as a left operand: the scores themselves where that holds floats.
  const Left* Powers() const {
    if constexpr (PanelOf<T>::kDepth == 1) {
      return buffers_.scores;
    } else {
      return buffers_.powers;
    }
  }

  /// The values of a block as a right operand: where they lie, if that is one.
  RightSteps<T> Values(std::int64_t key, KeyBits any) const {
    if constexpr (std::is_same_v<T, float>) {
      if (any == kAllKeys && IsPlain(task_.value, task_.value_size) && !IsPaged(task_) &&
          sizes_.columns == task_.value_size) {
        return {KeyAt<T>(group_, task_.value, key), task_.value.token};
      }
    }
    const T* found[kKeyBlock];
    FindRows(group_, task_.value, task_.value_size, key, any, buffers_.zero, buffers_.copies,
             found);
    PackSteps(found, kKeyBlock, task_.value_size, sizes_.columns, buffers_.values);
    return {buffers_.values, sizes_.columns};
  }

  const Group& group_;
  const AttentionTask& task_;
  const TileSizes<T> sizes_;
  const TileBuffers<T>& buffers_;
  const std::int64_t begin_;
  const std::int64_t count_;
  const std::int64_t padded_;
  float* bias_ = nullptr;
  KeyBits seen_[kPaddedRows];
  SoftmaxRow states_[kPaddedRows];
  float factors_[kPaddedRows];
};

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_BLOCKS_H_
