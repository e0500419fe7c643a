#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "native/cpu/shared/attention.h"

namespace infini::ops::cpu {
namespace {

[[noreturn]] void RefuseTask(const char* op, const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, op, "", message);
}

std::string EntryName(const char* name, std::int64_t index) {
  return "`" + std::string(name) + "`[" + std::to_string(index) + "]";
}

/// `starts` begin at 0, never decrease, and end at `total` (-1: anywhere).
void CheckStarts(const AttentionTask& task, const char* name, const Indices& starts,
                 std::int64_t total, std::int64_t most, const char* most_name) {
  if (starts.Get(0) != 0) {
    RefuseTask(task.op,
               EntryName(name, 0) + " is " + std::to_string(starts.Get(0)) + "; expected 0");
  }
  for (std::int64_t i = 1; i <= task.batch; ++i) {
    const std::int64_t length = starts.Get(i) - starts.Get(i - 1);
    if (starts.Get(i) < starts.Get(i - 1)) {
      RefuseTask(task.op, EntryName(name, i) + " is " + std::to_string(starts.Get(i)) +
                              ", less than the entry before it, " +
                              std::to_string(starts.Get(i - 1)) +
                              "; expected starts that never decrease");
    }
    if (most >= 0 && length > most) {
      RefuseTask(task.op, "sequence " + std::to_string(i - 1) + " of `" + name + "` has length " +
                              std::to_string(length) + ", more than `" + most_name + "`, " +
                              std::to_string(most));
    }
  }
  if (total >= 0 && starts.Get(task.batch) != total) {
    RefuseTask(task.op, EntryName(name, task.batch) + " is " +
                            std::to_string(starts.Get(task.batch)) +
                            "; expected the number of rows, " + std::to_string(total));
  }
}

/// The pages that a sequence of `keys` keys needs are there.
void CheckPages(const AttentionTask& task, std::int64_t index, std::int64_t keys) {
  const std::int64_t room = task.pages_of_sequence * task.page_size;
  if (keys > room) {
    RefuseTask(task.op, "sequence " + std::to_string(index) + " has " + std::to_string(keys) +
                            " keys, but its " + std::to_string(task.pages_of_sequence) +
                            " pages of " + std::to_string(task.page_size) + " have room for " +
                            std::to_string(room));
  }
  for (std::int64_t i = 0; i * task.page_size < keys; ++i) {
    const std::int64_t page = task.pages.Get(index * task.pages_of_sequence + i);
    if (page >= 0 && page < task.page_count) continue;
    RefuseTask(task.op, "page " + std::to_string(i) + " of sequence " + std::to_string(index) +
                            " is page " + std::to_string(page) + " of the cache; expected 0 to " +
                            std::to_string(task.page_count - 1));
  }
}

/// No two new keys go to the same place.
void CheckPlaces(const AttentionTask& task) {
  std::vector<std::int64_t> places;
  for (std::int64_t index = 0; index < task.batch; ++index) {
    const Sequence sequence = SequenceOf(task, index);
    for (std::int64_t key = sequence.keys - task.appended; key < sequence.keys; ++key) {
      if (!IsPaged(task)) {
        places.push_back(sequence.key_batch * task.keys + key);
      } else {
        const std::int64_t page =
            task.pages.Get(index * task.pages_of_sequence + key / task.page_size);
        places.push_back(page * task.page_size + key % task.page_size);
      }
    }
  }
  std::ranges::sort(places);
  if (std::ranges::adjacent_find(places) != places.end()) {
    RefuseTask(task.op,
               "two new keys go to the same place of the cache; give each sequence its own");
  }
}

}  // namespace

void CheckAttention(const AttentionTask& task) {
  if (task.query_starts.rows.data != nullptr) {
    CheckStarts(task, "cu_seqlens_q", task.query_starts, task.queries, task.most_queries,
                "max_seqlen_q");
  }
  const bool paged = IsPaged(task);
  if (task.key_starts.rows.data != nullptr) {
    CheckStarts(task, "cu_seqlens_k", task.key_starts, paged ? -1 : task.keys, task.most_keys,
                "max_seqlen_k");
  }
  if (task.cache_rows.rows.data != nullptr) {
    CheckIndices(task.op, "cache_batch_idx", task.cache_rows, 0, task.cache_row_count - 1,
                 "the rows of the cache");
  }
  if (task.lengths.rows.data != nullptr) {
    CheckIndices(
        task.op, task.lengths_name, task.lengths, 0, task.keys - task.appended,
        task.appended == 0 ? "the room of the cache" : "the room of the cache, less the new keys");
  }
  if (paged) {
    for (std::int64_t index = 0; index < task.batch; ++index) {
      CheckPages(task, index, SequenceOf(task, index).keys);
    }
  }
  if (task.appended > 0) CheckPlaces(task);
}

Heads MakeHeads(const TensorView& view, int batch, int token, int head) {
  const int last = view.rank() - 1;
  Heads heads = {.data = static_cast<char*>(TaskAddress(view)),
                 .batch = view.stride(batch),
                 .head = view.stride(head),
                 .token = view.stride(token),
                 .element = view.size(last) == 1 ? 1 : view.stride(last),
                 .split = std::max<std::int64_t>(view.size(last), 1),
                 .split_stride = 0};
  return heads;
}

void SetHeads(AttentionTask* task, const TensorView& query, std::int64_t heads,
              std::int64_t key_heads, std::int64_t size, std::int64_t value_size) {
  if (key_heads == 0 ? heads != 0 : heads % key_heads != 0) {
    throw Error(ErrorCode::kInvalidArgument, task->op, query.device().ToString(),
                std::to_string(heads) + " query heads cannot share " + std::to_string(key_heads) +
                    " key heads evenly; the first must be a multiple of the second");
  }
  task->heads = heads;
  task->key_heads = key_heads;
  task->size = size;
  task->value_size = value_size;
  task->dtype = query.dtype();
}

void SetWindow(AttentionTask* task, std::optional<double> scale, bool causal, std::int64_t left,
               std::int64_t right) {
  if (left < -1 || right < -1) {
    RefuseTask(task->op, "a side of the window is " + std::to_string(left < -1 ? left : right) +
                             "; expected a number of keys, or -1 for no bound");
  }
  const double size = static_cast<double>(std::max<std::int64_t>(task->size, 1));
  task->scale = static_cast<float>(scale.value_or(1 / std::sqrt(size)));
  task->left = left == -1 ? kWholeWindow : std::min(left, kWholeWindow);
  task->right = right == -1 ? kWholeWindow : std::min(right, kWholeWindow);
  if (causal) task->right = 0;
}

void SetPages(AttentionTask* task, const TensorView& table, std::int64_t page_count,
              std::int64_t page_size) {
  if (table.size(0) != task->batch) {
    throw Error(ErrorCode::kInvalidArgument, task->op, table.device().ToString(),
                "the table of pages is " + table.ToString() + "; expected " +
                    std::to_string(task->batch) + " rows, one for each sequence");
  }
  if (page_size == 0) {
    throw Error(ErrorCode::kInvalidArgument, task->op, table.device().ToString(),
                "a page of the cache has room for 0 keys; expected 1 or more");
  }
  task->pages = MakeIndices(task->op, table);
  task->pages_of_sequence = table.size(1);
  task->page_count = page_count;
  task->page_size = page_size;
  task->keys = task->pages_of_sequence * page_size;
}

}  // namespace infini::ops::cpu
