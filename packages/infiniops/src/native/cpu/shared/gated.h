// Products with an activated gate: the task of the gated operators.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_GATED_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_GATED_H_

#include "native/cpu/pointwise.h"

namespace infini::ops::cpu {

/// What is applied to the gate.
enum class Activation { kSilu, kGelu, kGeluTanh };

using GatedTask = BinaryTask<struct GatedTag, Activation>;
INFINI_OPS_CPU_BF16_KERNEL(GatedTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues out = activation(gate) * up.
void LaunchGated(const char* op, const Context& context, Activation activation,
                 const TensorView& gate, const TensorView& up, const TensorView& out);

/// The same of the two halves of `input` along its last dimension.
void LaunchGatedHalves(const char* op, const Context& context, Activation activation,
                       const TensorView& input, const TensorView& out);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/activations.h"
#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void Run(const GatedTask& task) {
  switch (task.attributes) {
    case Activation::kSilu:
      return RunFloating(
          task, [](auto gate, auto up, auto... rounding) { return Silu(gate, rounding...) * up; });
    case Activation::kGelu:
      return RunFloating(
          task, [](auto gate, auto up, auto... rounding) { return Gelu(gate, rounding...) * up; });
    case Activation::kGeluTanh:
      return RunFloating(task, [](auto gate, auto up, auto... rounding) {
        return GeluTanh(gate, rounding...) * up;
      });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_GATED_H_
