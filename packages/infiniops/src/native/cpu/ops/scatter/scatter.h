// scatter for the CPU: see src/base/scatter.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_SCATTER_H_
#define INFINI_OPS_NATIVE_CPU_OPS_SCATTER_H_

#include "native/cpu/indices.h"

namespace infini::ops::cpu {

struct ScatterTask {
  StridedLoop<2> copy;  // output and input; count 0 where they are one
  StridedLoop<3> loop;  // indices, source, output at number 0
  Indices indices;
  std::int64_t step;    // bytes from one number to the next
  std::int64_t length;  // numbers that there are
  std::int64_t size;    // of an element in bytes
};
INFINI_OPS_CPU_KERNEL(ScatterTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/copy.h"
#include "native/cpu/vector/indices.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Writes the elements of `loop` in order on the calling thread.
template <typename Word, typename Number>
void ScatterWords(const StridedLoop<3>& loop, std::int64_t step) {
  const std::int64_t number_step = loop.strides[0][0];
  const std::int64_t from_step = loop.strides[0][1];
  const std::int64_t to_step = loop.strides[0][2];
  const std::int64_t count = loop.sizes[0];
  for (std::int64_t index = 0; index < loop.count; index += count) {
    char* pointers[3];
    Locate(loop, index, pointers);
    for (std::int64_t i = 0; i < count; ++i) {
      Number number;
      std::memcpy(&number, pointers[0] + i * number_step, sizeof(number));
      Word word;
      std::memcpy(&word, pointers[1] + i * from_step, sizeof(word));
      std::memcpy(pointers[2] + i * to_step + number * step, &word, sizeof(word));
    }
  }
}

/// Calls `run(part)` for parts of `loop` that write to places apart, possibly on several threads:
/// what two elements write to one place must not depend on threads. Elements that differ in a
/// dimension along which the output has a stride do not meet, whatever their numbers.
template <typename Run>
void ForEachPartApart(const StridedLoop<3>& loop, Run run) {
  int dim = loop.rank - 1;
  while (dim >= 0 && loop.strides[dim][2] == 0) --dim;
  if (dim < 0) return run(loop);
  const std::int64_t size = loop.sizes[dim];
  const std::int64_t grain = kElementGrain / (loop.count / size);
  rt::ParallelFor(size, grain > 0 ? grain : 1, [&](std::int64_t begin, std::int64_t end) {
    StridedLoop<3> part = loop;
    for (int k = 0; k < 3; ++k) part.data[k] += begin * loop.strides[dim][k];
    part.sizes[dim] = end - begin;
    part.count = loop.count / size * (end - begin);
    run(part);
  });
}

void Run(const ScatterTask& task) {
  CheckManyIndices("scatter", "index", task.indices, 0, task.length - 1,
                   "the size of the dimension");
  if (task.copy.count != 0) CopyLoop(task.copy, task.size);
  if (task.loop.count == 0) return;
  VisitElementSize(task.size, [&task]<typename Word>(Type<Word>) {
    VisitIndexType(task.indices, [&task]<typename Number>(Type<Number>) {
      ForEachPartApart(task.loop, [&task](const StridedLoop<3>& part) {
        ScatterWords<Word, Number>(part, task.step);
      });
    });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "core/check.h"
#include "infini/ops/base/scatter.h"
#include "native/cpu/view.h"

namespace infini::ops {

template <>
struct Operator<Scatter, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& index,
                   const TensorView& src, std::int64_t dim, const TensorView& out) {
    const int along = internal::WrapDim(dim, input.rank());
    cpu::CheckInside(Scatter::kOperator, {"index", &index}, {"input", &input}, along);
    cpu::CheckInside(Scatter::kOperator, {"index", &index}, {"src", &src}, -1);
    if (out.numel() == 0 && index.numel() == 0) return;
    const auto size = static_cast<std::int64_t>(rt::DataTypeSize(input.dtype()));
    const bool scalar = input.rank() == 0;
    cpu::ScatterTask task = {
        .copy = cpu::MakeLoop(Scatter::kOperator, out, input),
        .loop = cpu::MakeLoop(Scatter::kOperator, index, cpu::First(src, index.shape()),
                              cpu::Repeated(out, along, index.shape())),
        .indices = cpu::MakeIndices(Scatter::kOperator, index),
        .step = scalar ? 0 : out.stride(along) * size,
        .length = scalar ? 1 : out.size(along),
        .size = size};
    if (out.data() == input.data()) task.copy.count = 0;
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_SCATTER_H_
