// The kernel of attention: which sequences are streamed and which are blocked, and the parallel
// loop over their parts.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_H_

#include <infini/rt/parallel.h>

#include <optional>
#include <utility>

#include "native/cpu/vector/attention_blocks.h"
#include "native/cpu/vector/attention_stream.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Multiply-adds that are worth a thread of their own.
inline constexpr double kAttentionGrain = 128 * 1024;

/// Most key heads whose keys lie side by side that are streamed together: memory is then read
/// nearly in order.
inline constexpr std::int64_t kHeadsTogether = 8;

/// How a sequence is split; a function of its own lengths alone.
struct Split {
  bool streamed;
  std::int64_t parts;  // of each key head: chunks of keys, or tiles of rows

  Split(const AttentionTask& task, const Sequence& sequence) {
    const std::int64_t rows = sequence.queries * (task.heads / task.key_heads);
    streamed = rows <= kStreamRows;
    parts = rows == 0  ? 0
            : streamed ? Greatest(1, (sequence.keys + kChunkKeys - 1) / kChunkKeys)
                       : (rows + kTileRows - 1) / kTileRows;
  }
};

/// Appends the new keys and values of a task to its cache.
template <typename T>
void AppendKeys(const AttentionTask& task) {
  const std::int64_t each = task.key_heads * task.appended;
  const std::int64_t elements = task.size + task.value_size;
  rt::ParallelFor(
      task.batch * each, 32768 / elements + 1, [&task, each](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t index = i / each;
          const std::int64_t added = i % task.appended;
          const Group group = {.task = task,
                               .sequence = SequenceOf(task, index),
                               .index = index,
                               .key_head = i % each / task.appended,
                               .width = 1};
          const std::int64_t at = group.sequence.keys - task.appended + added;
          const auto append = [&](const Heads& from, const Heads& to, std::int64_t size) {
            const T* source = TokenAt<T>(from, index, group.key_head, added);
            T* target = const_cast<T*>(KeyAt<T>(group, to, at));
            for (std::int64_t d = 0; d < size; ++d)
              target[d * to.element] = source[d * from.element];
          };
          append(task.new_key, task.key, task.size);
          append(task.new_value, task.value, task.value_size);
        }
      });
}

/// Runs the parts of all sequences of a task.
template <typename T>
class Attention {
 public:
  explicit Attention(const AttentionTask& task) : task_(task) {
    auto counts = static_cast<std::size_t>(2 * (task.batch + 1)) * sizeof(std::int64_t);
    const std::int64_t floats = Plan(nullptr);
    Carver carver(Scratch(ScratchPurpose::kShared,
                          counts + 128 + static_cast<std::size_t>(floats) * sizeof(float)));
    starts_ = carver.Take<std::int64_t>(2 * (task.batch + 1));
    partials_ = carver.Take<float>(floats);
    Plan(starts_);
  }

  void Run() {
    const std::int64_t items = starts_[task_.batch];
    if (items == 0) return;
    const double each = work_ / static_cast<double>(items) + 1;
    const auto grain = static_cast<std::int64_t>(kAttentionGrain / each) + 1;
    rt::ParallelFor(items, grain, [this](std::int64_t begin, std::int64_t end) {
      while (begin < end) begin += RunItems(begin, end);
    });
    if (!combines_) return;
    rt::ParallelFor(task_.batch * task_.key_heads, grain,
                    [this](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t index = begin; index < end; ++index) Combine(index);
                    });
  }

 private:
  std::int64_t* partial_starts() const { return starts_ + task_.batch + 1; }

  /// Counts items and floats of partial results; writes where each sequence's begin.
  std::int64_t Plan(std::int64_t* starts) {
    std::int64_t items = 0;
    std::int64_t floats = 0;
    work_ = 0;
    for (std::int64_t index = 0; index < task_.batch; ++index) {
      if (starts != nullptr) {
        starts[index] = items;
        starts[task_.batch + 1 + index] = floats;
      }
      const Sequence sequence = SequenceOf(task_, index);
      const Split split(task_, sequence);
      items += split.parts * task_.key_heads;
      work_ += static_cast<double>(sequence.queries) * static_cast<double>(sequence.keys) *
               static_cast<double>(task_.heads * (task_.size + task_.value_size));
      if (split.streamed && split.parts > 1) {
        combines_ = true;
        const std::int64_t rows = sequence.queries * (task_.heads / task_.key_heads);
        floats += split.parts * task_.key_heads * Partial::Size(rows, task_.value_size);
      }
    }
    if (starts != nullptr) starts[task_.batch] = items;
    return floats;
  }

  Group GroupOf(std::int64_t index, std::int64_t key_head) const {
    return {.task = task_,
            .sequence = SequenceOf(task_, index),
            .index = index,
            .key_head = key_head,
            .width = task_.heads / task_.key_heads};
  }

  /// Runs item `item`, and with it items before `end` whose keys lie beside its own. Returns how
  /// many that are.
  std::int64_t RunItems(std::int64_t item, std::int64_t end) const {
    std::int64_t low = 0;  // the sequence is in [low, high)
    std::int64_t high = task_.batch;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (starts_[middle] <= item ? low : high) = middle;
    }
    const Split split(task_, SequenceOf(task_, low));
    const std::int64_t own = item - starts_[low];
    if (!split.streamed) {
      Block(GroupOf(low, own / split.parts), own % split.parts, split.parts);
      return 1;
    }
    // All heads of a chunk after one another: caches keep the heads of a token side by side.
    const std::int64_t head = own % task_.key_heads;
    const bool beside = task_.key.head < task_.key.token && task_.value.head < task_.value.token;
    const std::int64_t count =
        beside ? Least(Least(end - item, task_.key_heads - head), kHeadsTogether) : 1;
    Stream(low, head, count, own / task_.key_heads, split.parts);
    return count;
  }

  /// Streams a chunk of `count` key heads from `head` on, block by block of all of them.
  void Stream(std::int64_t index, std::int64_t head, std::int64_t count, std::int64_t chunk,
              std::int64_t chunks) const {
    const Group first = GroupOf(index, head);
    const std::int64_t floats = Partial::Size(first.rows(), task_.value_size);
    const auto take = [&](Carver* carver) {
      const StreamBuffers<T> buffers(carver, task_, first.rows());
      return std::pair(buffers, carver->Take<float>(floats));
    };
    Carver sizing(nullptr);
    for (std::int64_t i = 0; i < count; ++i) take(&sizing);
    Carver carver(Scratch(ScratchPurpose::kOwn, sizing.bytes()));
    const std::int64_t begin = chunk * kChunkKeys;
    const std::int64_t end = Least(begin + kChunkKeys, first.sequence.keys);
    std::optional<StreamedChunk<T>> heads[kHeadsTogether];
    for (std::int64_t i = 0; i < count; ++i) {
      auto [buffers, memory] = take(&carver);
      if (chunks > 1) {
        memory = partials_ + partial_starts()[index] + ((head + i) * chunks + chunk) * floats;
      }
      heads[i].emplace(GroupOf(index, head + i), begin, end, buffers,
                       Partial::At(memory, first.rows()));
    }
    const std::int64_t blocks = heads[0]->blocks();
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t i = 0; i < count; ++i) heads[i]->ScoreBlock(block);
    }
    for (std::int64_t i = 0; i < count; ++i) heads[i]->Soften();
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t i = 0; i < count; ++i) heads[i]->MixBlock(block);
    }
    if (chunks > 1) return;
    for (std::int64_t i = 0; i < count; ++i) heads[i]->Write();
  }

  void Block(const Group& group, std::int64_t part, std::int64_t parts) const {
    Carver sizing(nullptr);
    TileBuffers<T>(&sizing, task_);
    Carver carver(Scratch(ScratchPurpose::kOwn, sizing.bytes()));
    const TileBuffers<T> buffers(&carver, task_);
    // From both ends, so that a causal mask gives neighbouring parts the same work together.
    const std::int64_t tile = part % 2 == 0 ? part / 2 : parts - 1 - part / 2;
    const std::int64_t begin = tile * kTileRows;
    BlockedTile<T>(group, begin, Least(kTileRows, group.rows() - begin), buffers).Run();
  }

  void Combine(std::int64_t index) const {
    const Group group = GroupOf(index / task_.key_heads, index % task_.key_heads);
    const Split split(task_, group.sequence);
    if (!split.streamed || split.parts <= 1) return;
    const std::int64_t floats = Partial::Size(group.rows(), task_.value_size);
    CombineChunks<T>(
        group, partials_ + partial_starts()[group.index] + group.key_head * split.parts * floats,
        split.parts);
  }

  const AttentionTask& task_;
  std::int64_t* starts_;
  float* partials_;
  double work_ = 0;  // multiply-adds
  bool combines_ = false;
};

template <typename T>
void Attend(const AttentionTask& task) {
  if (task.new_key.data != nullptr) AppendKeys<T>(task);
  Attention<T>(task).Run();
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ATTENTION_H_
