// gather for the CPU: see src/base/gather.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_GATHER_H_
#define INFINI_OPS_NATIVE_CPU_OPS_GATHER_H_

#include "native/cpu/indices.h"

namespace infini::ops::cpu {

struct GatherTask {
  StridedLoop<3> loop;  // output, indices, input at number 0
  Indices indices;
  std::int64_t step;    // bytes from one number to the next
  std::int64_t length;  // numbers that there are
  std::int64_t size;    // of an element in bytes
};
INFINI_OPS_CPU_KERNEL(GatherTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/indices.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename Word, typename Number>
void GatherWords(const GatherTask& task) {
  ForEachRun(task.loop, [step = task.step](char* const* pointers, const std::int64_t* strides,
                                           std::int64_t count) {
    char* to = pointers[0];
    const char* numbers = pointers[1];
    const char* from = pointers[2];
    const std::int64_t to_step = strides[0];
    const std::int64_t number_step = strides[1];
    const std::int64_t from_step = strides[2];
    for (std::int64_t i = 0; i < count; ++i) {
      Number number;
      std::memcpy(&number, numbers + i * number_step, sizeof(number));
      Word word;
      std::memcpy(&word, from + i * from_step + number * step, sizeof(word));
      std::memcpy(to + i * to_step, &word, sizeof(word));
    }
  });
}

void Run(const GatherTask& task) {
  CheckManyIndices("gather", "index", task.indices, 0, task.length - 1,
                   "the size of the dimension");
  VisitElementSize(task.size, [&task]<typename Word>(Type<Word>) {
    VisitIndexType(task.indices,
                   [&task]<typename Number>(Type<Number>) { GatherWords<Word, Number>(task); });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "core/check.h"
#include "infini/ops/base/gather.h"
#include "native/cpu/view.h"

namespace infini::ops {

template <>
struct Operator<Gather, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& index,
                   std::int64_t dim, const TensorView& out) {
    const int along = internal::WrapDim(dim, input.rank());
    cpu::CheckInside(Gather::kOperator, {"index", &index}, {"input", &input}, along);
    if (out.numel() == 0) return;
    const auto size = static_cast<std::int64_t>(rt::DataTypeSize(input.dtype()));
    const bool scalar = input.rank() == 0;
    const cpu::GatherTask task = {.loop = cpu::MakeLoop(Gather::kOperator, out, index,
                                                        cpu::Repeated(input, along, index.shape())),
                                  .indices = cpu::MakeIndices(Gather::kOperator, index),
                                  .step = scalar ? 0 : input.stride(along) * size,
                                  .length = scalar ? 1 : input.size(along),
                                  .size = size};
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_GATHER_H_
