// write_cache for the CPU: see src/base/write_cache.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_WRITE_CACHE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_WRITE_CACHE_H_

#include "native/cpu/indices.h"
#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct WriteCacheTask {
  Rows cache;  // of all entries; its data is null where `out` is the cache
  Rows out;
  Rows values;
  std::int64_t heads;
  std::int64_t capacity;  // entries of a row
  std::int64_t added;     // entries of a row that are new
  Indices positions;      // its data is null: none
  std::int64_t offset;
  int size;  // bytes of an element
};
INFINI_OPS_CPU_KERNEL(WriteCacheTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include "native/cpu/vector/rows_copy.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const WriteCacheTask& task) {
  const Indices& positions = task.positions;
  const std::int64_t last = task.capacity - task.added - task.offset;
  if (positions.rows.data != nullptr) {
    CheckIndices("write_cache", "positions", positions, -task.offset, last,
                 "where the new entries fit in the cache, less `offset`");
  }
  VisitElementSize(task.size, [&]<typename T>(Type<T>) {
    if (task.cache.data != nullptr) {
      rt::ParallelFor(task.out.count, kCopyGrain / task.out.length + 1,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          CopyRow<T>(task.cache, row, task.out, row);
                        }
                      });
    }
    const std::int64_t per_row = task.heads * task.added;
    rt::ParallelFor(task.values.count, kCopyGrain / task.out.length + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t batch = i / per_row;
                        const std::int64_t head = i / task.added;  // of all rows
                        std::int64_t at = task.offset + i % task.added;
                        if (positions.rows.data != nullptr) {
                          at += positions.Get(positions.rows.count == 1 ? 0 : batch);
                        }
                        CopyRow<T>(task.values, i, task.out, head * task.capacity + at);
                      }
                    });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <string>

#include "infini/ops/base/write_cache.h"

namespace infini::ops {

template <>
struct Operator<WriteCache, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& cache, const TensorView& values,
                   const std::optional<TensorView>& positions, std::int64_t offset,
                   const TensorView& out) {
    const std::int64_t added = values.size(2);
    if (positions && positions->rank() == 1 && positions->size(0) != cache.size(0)) {
      Refuse(cache, "`positions` is " + positions->ToString() + "; expected one number, or " +
                        std::to_string(cache.size(0)) + ", one for each row of `cache`");
    }
    if (added > cache.size(2) || (!positions && offset > cache.size(2) - added)) {
      Refuse(cache, "`values` has " + std::to_string(added) + " entries for a row" +
                        (positions ? "" : " from position " + std::to_string(offset)) +
                        ", but `cache` has room for " + std::to_string(cache.size(2)));
    }
    if (out.numel() == 0) return;
    cpu::WriteCacheTask task = {};
    task.out = cpu::MakeRows(WriteCache::kOperator, out);
    if (out.data() != cache.data()) task.cache = cpu::MakeRows(WriteCache::kOperator, cache);
    task.values = cpu::MakeRows(WriteCache::kOperator, values);
    task.heads = cache.size(1);
    task.capacity = cache.size(2);
    task.added = added;
    if (positions) task.positions = cpu::MakeIndices(WriteCache::kOperator, *positions);
    task.offset = offset;
    task.size = static_cast<int>(rt::DataTypeSize(out.dtype()));
    cpu::Launch(context, task);
  }

 private:
  [[noreturn]] static void Refuse(const TensorView& cache, const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, WriteCache::kOperator, cache.device().ToString(),
                message);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_WRITE_CACHE_H_
