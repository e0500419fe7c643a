// fill for the CPU: see src/base/fill.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_FILL_H_
#define INFINI_OPS_NATIVE_CPU_OPS_FILL_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct FillTask {
  StridedLoop<1> loop;
  std::int64_t size;  // of an element in bytes
  alignas(16) char value[16];
};
INFINI_OPS_CPU_KERNEL(FillTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const FillTask& task) {
  VisitElementSize(task.size, [&task]<typename Word>(Type<Word>) {
    Word word;
    std::memcpy(&word, task.value, sizeof(word));
    ForEachRun(task.loop,
               [word](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
                 constexpr auto kSize = static_cast<std::int64_t>(sizeof(Word));
                 char* to = pointers[0];
                 const std::int64_t step = strides[0];
                 if (step == kSize) {
                   Word* words = reinterpret_cast<Word*>(to);
                   for (std::int64_t i = 0; i < count; ++i) words[i] = word;
                 } else {
                   for (std::int64_t i = 0; i < count; ++i) {
                     std::memcpy(to + i * step, &word, sizeof(word));
                   }
                 }
               });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <infini/rt/float16.h>

#include <complex>
#include <cstring>

#include "infini/ops/base/fill.h"

namespace infini::ops {

template <>
struct Operator<Fill, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView&, const Scalar& value,
                   const TensorView& out) {
    if (out.numel() == 0) return;
    cpu::FillTask task = {.loop = cpu::MakeLoop(Fill::kOperator, out),
                          .size = static_cast<std::int64_t>(rt::DataTypeSize(out.dtype())),
                          .value = {}};
    const auto keep = [&task](auto element) { std::memcpy(task.value, &element, sizeof(element)); };
    switch (out.dtype()) {
      case DataType::kBool:
        keep(static_cast<std::uint8_t>(value.integer() != 0));
        break;
      case DataType::kFloat16:
        keep(rt::Float16(static_cast<float>(value.real())));
        break;
      case DataType::kBFloat16:
        keep(rt::BFloat16(static_cast<float>(value.real())));
        break;
      case DataType::kFloat32:
        keep(static_cast<float>(value.real()));
        break;
      case DataType::kFloat64:
        keep(value.real());
        break;
      case DataType::kComplex64:
        keep(std::complex<float>(static_cast<float>(value.real()),
                                 static_cast<float>(value.imaginary())));
        break;
      case DataType::kComplex128:
        keep(std::complex<double>(value.real(), value.imaginary()));
        break;
      default:
        keep(value.integer());  // the low bytes, which come first on the machines that we serve
    }
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_FILL_H_
