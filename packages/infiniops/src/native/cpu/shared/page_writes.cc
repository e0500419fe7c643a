#include "native/cpu/shared/page_writes.h"

#include <algorithm>
#include <string>
#include <vector>

namespace infini::ops::cpu {

void CheckSlots(const PageWritesTask& task) {
  CheckIndices(task.op, "slot_mapping", task.slots, -1, task.page_count * task.page_size - 1,
               "the slots of the cache, and -1 for none");
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < task.slots.rows.count; ++token) {
    const std::int64_t slot = task.slots.Get(token);
    if (slot >= 0) slots.push_back(slot);
  }
  std::ranges::sort(slots);
  const auto twice = std::ranges::adjacent_find(slots);
  if (twice == slots.end()) return;
  throw Error(
      ErrorCode::kInvalidArgument, task.op, "",
      "`slot_mapping` names slot " + std::to_string(*twice) + " for two tokens; give each its own");
}

TokenWrites MakeTokenWrites(const TensorView& tokens, const TensorView& pages, int place, int head,
                            int element) {
  const std::int64_t size = tokens.size(2);
  return {.tokens = static_cast<const char*>(TaskAddress(tokens)),
          .token = tokens.stride(0),
          .token_head = tokens.stride(1),
          .token_element = tokens.stride(2),
          .pages = static_cast<char*>(TaskAddress(pages)),
          .page = pages.stride(0),
          .place = pages.stride(place),
          .head = pages.stride(head),
          .element = pages.stride(element),
          .split = std::max<std::int64_t>(size, 1),
          .split_stride = 0,
          .size = size};
}

}  // namespace infini::ops::cpu
