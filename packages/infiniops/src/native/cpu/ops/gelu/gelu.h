// gelu for the CPU: see src/base/gelu.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_GELU_H_
#define INFINI_OPS_NATIVE_CPU_OPS_GELU_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

/// Whether the hyperbolic tangent stands for the error function.
struct GeluAttributes {
  bool tanh;
};
using GeluTask = UnaryTask<struct GeluTag, GeluAttributes>;
INFINI_OPS_CPU_KERNEL(GeluTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/activations.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const GeluTask& task) {
  if (task.attributes.tanh) {
    RunFloating(task, [](auto x, auto... rounding) { return GeluTanh(x, rounding...); });
  } else {
    RunFloating(task, [](auto x, auto... rounding) { return Gelu(x, rounding...); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/gelu.h"

namespace infini::ops {

template <>
struct Operator<Gelu, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, std::string_view approximate,
                   const TensorView& out) {
    cpu::LaunchPointwise<cpu::GeluTask>(Gelu::kOperator, context, input.dtype(),
                                        {.tanh = approximate == "tanh"}, out, input);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_GELU_H_
