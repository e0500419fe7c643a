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

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Visits the runs of `loop` in order on the calling thread: what two elements write to one place
/// must not depend on threads.
template <typename Run>
void ForEachRunInOrder(const StridedLoop<3>& loop, Run run) {
  for (std::int64_t index = 0; index < loop.count; index += loop.sizes[0]) {
    char* pointers[3];
    Locate(loop, index, pointers);
    run(pointers, loop.strides[0], loop.sizes[0]);
  }
}

void Run(const ScatterTask& task) {
  CheckIndices("scatter", "index", task.indices, 0, task.length - 1, "the size of the dimension");
  if (task.copy.count != 0) CopyLoop(task.copy, task.size);
  if (task.loop.count == 0) return;
  ForEachRunInOrder(
      task.loop, [&task](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          const char* at = pointers[0] + i * strides[0];
          std::int64_t number;
          if (task.indices.wide) {
            std::memcpy(&number, at, sizeof(number));
          } else {
            std::int32_t narrow;
            std::memcpy(&narrow, at, sizeof(narrow));
            number = narrow;
          }
          CopyStrided(pointers[1] + i * strides[1], 0,
                      pointers[2] + i * strides[2] + number * task.step, 0, task.size, 1);
        }
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
