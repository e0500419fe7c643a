// Attention for the CPU: the task that every attention operator fills, and its kernel.
//
// A sequence's queries see a range of its keys, which a mask may thin out. Sequences lie in
// batches, packed one after another, or in pages of a cache; keys may be appended to the cache
// first.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_ATTENTION_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_ATTENTION_H_

#include "native/cpu/indices.h"
#include "native/cpu/kernel.h"

#ifndef INFINI_OPS_CPU_ISA
#include <optional>
#endif

namespace infini::ops::cpu {

/// Where the heads of an operand lie. Strides count elements. Element d of a head is at
/// `d / split * split_stride + d % split * element`: vLLM's caches keep keys in splits.
struct Heads {
  char* data;
  std::int64_t batch;  // from one sequence, or page, to the next
  std::int64_t head;
  std::int64_t token;
  std::int64_t element;
  std::int64_t split;
  std::int64_t split_stride;
};

/// A mask over batch, head, query and key. Strides count elements; 0 repeats.
struct AttentionMask {
  const char* data;  // null: none
  std::int64_t strides[4];
  rt::DataType dtype;  // bool: true is seen; a float is added to the scaled score
};

/// No bound of a window.
inline constexpr std::int64_t kWholeWindow = INT64_MAX / 4;

struct AttentionTask {
  const char* op;  // for errors; lives as long as the library
  rt::DataType dtype;
  Heads query;
  Heads key;
  Heads value;
  Heads out;
  Heads new_key;  // its data is null: nothing is appended
  Heads new_value;
  AttentionMask mask;
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t key_heads;
  std::int64_t size;          // elements of a query and a key
  std::int64_t value_size;    // elements of a value
  std::int64_t queries;       // of a sequence; packed: of all
  std::int64_t keys;          // that a sequence has room for; packed: of all
  std::int64_t appended;      // new keys of a sequence
  Indices query_starts;       // batch + 1 of them; null data: not packed
  Indices key_starts;         // the same for keys
  std::int64_t most_queries;  // packed: of a sequence, -1 for any number
  std::int64_t most_keys;
  Indices lengths;           // keys of each sequence before those appended; null data: all
  const char* lengths_name;  // for errors
  Indices cache_rows;        // where each sequence lies in the cache; null data: at its own number
  std::int64_t cache_row_count;
  Indices pages;  // of each sequence, `pages_of_sequence` numbers
  std::int64_t pages_of_sequence;
  std::int64_t page_count;
  std::int64_t page_size;  // 0: not paged
  float scale;
  std::int64_t left;  // keys seen before a query's own position, and after it
  std::int64_t right;
  bool bottom_right;  // the last query stands at the last key; otherwise the first at the first
};
INFINI_OPS_CPU_BF16_KERNEL(AttentionTask);

/// Whether keys lie in pages. A table of pages without elements has no data, but is one.
INFINI_OPS_INLINE bool IsPaged(const AttentionTask& task) { return task.page_size != 0; }

/// One sequence of a task: where its queries and keys begin, and how many there are.
struct Sequence {
  std::int64_t query_batch;
  std::int64_t query_begin;
  std::int64_t queries;
  std::int64_t key_batch;
  std::int64_t key_begin;
  std::int64_t keys;
  std::int64_t shift;  // position of query 0 among the keys
};

/// Describes sequence `index` of a task whose values are checked.
INFINI_OPS_INLINE Sequence SequenceOf(const AttentionTask& task, std::int64_t index) {
  Sequence found = {.query_batch = index,
                    .query_begin = 0,
                    .queries = task.queries,
                    .key_batch = index,
                    .key_begin = 0,
                    .keys = task.keys,
                    .shift = 0};
  if (task.query_starts.rows.data != nullptr) {
    found.query_batch = 0;
    found.query_begin = task.query_starts.Get(index);
    found.queries = task.query_starts.Get(index + 1) - found.query_begin;
  }
  if (task.key_starts.rows.data != nullptr) {
    found.keys = task.key_starts.Get(index + 1) - task.key_starts.Get(index);
    if (!IsPaged(task)) {
      found.key_batch = 0;
      found.key_begin = task.key_starts.Get(index);
    }
  }
  if (task.lengths.rows.data != nullptr) found.keys = task.lengths.Get(index) + task.appended;
  if (task.cache_rows.rows.data != nullptr) found.key_batch = task.cache_rows.Get(index);
  if (task.bottom_right) found.shift = found.keys - found.queries;
  return found;
}

#ifndef INFINI_OPS_CPU_ISA

/// Describes the heads of `view`, whose last dimension is a head's elements; `batch`, `token` and
/// `head` are its other dimensions.
Heads MakeHeads(const TensorView& view, int batch, int token, int head);

/// Sets the numbers of heads and sizes of a task. Throws `Error` unless the query heads can share
/// the key heads evenly.
void SetHeads(AttentionTask* task, const TensorView& query, std::int64_t heads,
              std::int64_t key_heads, std::int64_t size, std::int64_t value_size);

/// Sets scale and window of a task. -1 for a side of the window means no bound; `causal` means 0
/// after a query's position. Throws `Error` for other negative numbers.
void SetWindow(AttentionTask* task, std::optional<double> scale, bool causal, std::int64_t left,
               std::int64_t right);

/// Sets the pages of a task, one row of `table` for each sequence. Throws `Error` unless there are
/// as many rows as sequences and a page has room.
void SetPages(AttentionTask* task, const TensorView& table, std::int64_t page_count,
              std::int64_t page_size);

#endif  // INFINI_OPS_CPU_ISA

/// Throws `Error` (invalid argument) when lengths, starts, rows or pages lie outside their bounds.
void CheckAttention(const AttentionTask& task);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/attention.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const AttentionTask& task) {
  CheckAttention(task);
  if (task.batch == 0 || task.key_heads == 0) return;
  switch (task.dtype) {
    case rt::DataType::kFloat32:
      return Attend<float>(task);
    case rt::DataType::kBFloat16:
      return Attend<BFloat16>(task);
    default:
      return Attend<Float16>(task);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_ATTENTION_H_
