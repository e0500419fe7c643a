// Writes of tokens into the pages of a cache: the task that both layouts fill, and its kernel.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_PAGE_WRITES_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_PAGE_WRITES_H_

#include "native/cpu/indices.h"
#include "native/cpu/kernel.h"

namespace infini::ops::cpu {

/// Elements of tokens, and where they go in the pages. Strides count elements. Element d of a head
/// is at `d / split * split_stride + d % split * element` of its page.
struct TokenWrites {
  const char* tokens;
  std::int64_t token;
  std::int64_t token_head;
  std::int64_t token_element;
  char* pages;
  std::int64_t page;
  std::int64_t place;
  std::int64_t head;
  std::int64_t element;
  std::int64_t split;
  std::int64_t split_stride;
  std::int64_t size;
};

struct PageWritesTask {
  const char* op;
  TokenWrites writes[2];  // keys and values
  Indices slots;
  std::int64_t heads;
  std::int64_t page_count;
  std::int64_t page_size;
  int bytes;  // of an element
};
INFINI_OPS_CPU_KERNEL(PageWritesTask);

/// Throws `Error` (invalid argument) when a slot lies outside the cache or is named twice.
void CheckSlots(const PageWritesTask& task);

#ifndef INFINI_OPS_CPU_ISA

/// Describes writes of `tokens` [T, heads, size] to `pages`, whose dimensions `place` and `element`
/// are the places of a page and (the first of) a head's elements.
TokenWrites MakeTokenWrites(const TensorView& tokens, const TensorView& pages, int place, int head,
                            int element);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include "native/cpu/vector/rows_copy.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename T>
void WriteToken(const PageWritesTask& task, const TokenWrites& writes, std::int64_t token) {
  const std::int64_t slot = task.slots.Get(token);
  if (slot < 0) return;
  for (std::int64_t head = 0; head < task.heads; ++head) {
    const T* source =
        reinterpret_cast<const T*>(writes.tokens) + token * writes.token + head * writes.token_head;
    T* target = reinterpret_cast<T*>(writes.pages) + slot / task.page_size * writes.page +
                slot % task.page_size * writes.place + head * writes.head;
    for (std::int64_t begin = 0; begin < writes.size; begin += writes.split) {
      const std::int64_t left = writes.size - begin;
      const std::int64_t count = left < writes.split ? left : writes.split;
      for (std::int64_t d = 0; d < count; ++d) {
        target[d * writes.element] = source[(begin + d) * writes.token_element];
      }
      target += writes.split_stride;
    }
  }
}

void Run(const PageWritesTask& task) {
  CheckSlots(task);
  const std::int64_t elements = task.heads * (task.writes[0].size + task.writes[1].size);
  VisitElementSize(task.bytes, [&]<typename T>(Type<T>) {
    rt::ParallelFor(task.slots.rows.count, kCopyGrain / (elements + 1) + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t token = begin; token < end; ++token) {
                        for (const TokenWrites& writes : task.writes) {
                          WriteToken<T>(task, writes, token);
                        }
                      }
                    });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_PAGE_WRITES_H_
