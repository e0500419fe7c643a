#include "linked/torch/cpu/ops/rms_norm/vllm_dispatcher.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "linked/torch/shared/rms_norm.h"
#include "linked/torch/shared/vllm_cpu.h"

namespace infini::ops {
namespace {

struct Dispatched : linked::VllmCpu {
  static void Call(at::Tensor& out, at::Tensor& input, std::optional<at::Tensor>& weight,
                   double eps) {
    static const c10::OperatorHandle handle =
        c10::Dispatcher::singleton().findSchemaOrThrow("_C::rms_norm", "");
    // Boxed: the contract proves the schema, but not the C++ types that it was registered with.
    torch::jit::Stack stack = {out, input, weight, eps};
    handle.callBoxed(stack);
  }
};

}  // namespace

void Operator<RmsNorm, Device::Type::kCpu, 17>::Call(const Context& context,
                                                     const TensorView& input,
                                                     const std::optional<TensorView>& weight,
                                                     double eps, const TensorView& out) {
  linked::CallRmsNorm<Dispatched>(context, input, weight, eps, out);
}

Support Operator<RmsNorm, Device::Type::kCpu, 17>::Supports(const Context&, const TensorView& input,
                                                            const std::optional<TensorView>&,
                                                            double, const TensorView& out) {
  return linked::SupportsVllmRows(input, out);
}

}  // namespace infini::ops
