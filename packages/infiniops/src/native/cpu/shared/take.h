// Slices of a tensor by number: the task of embedding and index_select.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_TAKE_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_TAKE_H_

#include "native/cpu/indices.h"

namespace infini::ops::cpu {

struct TakeTask {
  const char* op;  // for errors; lives as long as the library
  const char* indices_name;
  StridedLoop<2> slice;  // of the output and the input, at number 0
  Indices indices;       // which slices
  Rows places;           // where each goes: offsets in elements
  std::int64_t in_step;  // bytes from one slice of the input to the next
  std::int64_t slices;   // that the input has
  std::int64_t size;     // of an element in bytes
};
INFINI_OPS_CPU_KERNEL(TakeTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues the copies of the slices of `input` along `dim` whose numbers `indices` gives.
/// `out_slice` and `in_slice` are slice 0 of the output and the input; the output's slice j begins
/// at row j of `places`.
void LaunchTake(const char* op, const Context& context, const TensorView& input, int dim,
                const char* indices_name, const TensorView& indices, const TensorView& in_slice,
                const TensorView& out_slice, const TensorView& places);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/copy.h"
#include "native/cpu/vector/indices.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const TakeTask& task) {
  CheckManyIndices(task.op, task.indices_name, task.indices, 0, task.slices - 1,
                   "the slices that there are");
  const std::int64_t count = task.slice.count;
  if (count == 0) return;
  const bool whole = task.slice.rank == 1 && task.slice.strides[0][0] == task.size &&
                     task.slice.strides[0][1] == task.size;
  const std::int64_t grain = kElementGrain / count;
  rt::ParallelFor(task.indices.rows.count, grain > 0 ? grain : 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    StridedLoop<2> loop = task.slice;
                    for (std::int64_t j = begin; j < end; ++j) {
                      loop.data[0] = task.slice.data[0] + task.places.Offset(j) * task.size;
                      loop.data[1] = task.slice.data[1] + task.indices.Get(j) * task.in_step;
                      if (whole) {
                        const std::int64_t next = task.indices.Get(j + 1 < end ? j + 1 : j);
                        CopyAndAsk(loop.data[1], task.slice.data[1] + next * task.in_step,
                                   count * task.size, loop.data[0]);
                      } else {
                        CopyLoop(loop, task.size);
                      }
                    }
                  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_TAKE_H_
