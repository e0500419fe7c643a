#include "linked/torch/nvidia/ops/fused_add_rms_norm/vllm.h"

#include "linked/torch/shared/fused_add_rms_norm.h"
#include "linked/torch/shared/vllm_cuda.h"

// vllm's, as its contract has it.
void fused_add_rms_norm(at::Tensor& input, at::Tensor& residual, at::Tensor& weight, double eps);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCuda<Device::Type::kNvidia> {
  static void Call(at::Tensor& input, at::Tensor& residual, std::optional<at::Tensor>& weight,
                   double eps) {
    at::Tensor factor = GivenOrOnes(weight, input);
    ::fused_add_rms_norm(input, residual, factor, eps);
  }
};

}  // namespace

void Operator<FusedAddRmsNorm, Device::Type::kNvidia, 16>::Call(
    const Context& context, const TensorView& input, const TensorView& residual,
    const std::optional<TensorView>& weight, double eps) {
  linked::CallFusedAddRmsNorm<Vllm>(context, input, residual, weight, eps);
}

Support Operator<FusedAddRmsNorm, Device::Type::kNvidia, 16>::Supports(
    const Context&, const TensorView& input, const TensorView& residual,
    const std::optional<TensorView>&, double) {
  return linked::SupportsFloats(input, residual);
}

}  // namespace infini::ops
