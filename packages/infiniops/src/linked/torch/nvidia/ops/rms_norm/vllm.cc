#include "linked/torch/nvidia/ops/rms_norm/vllm.h"

#include "linked/torch/shared/rms_norm.h"
#include "linked/torch/shared/vllm_cuda.h"

// vllm's, as its contract has it.
void rms_norm(at::Tensor& out, at::Tensor& input, at::Tensor& weight, double eps);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCuda<Device::Type::kNvidia> {
  static void Call(at::Tensor& out, at::Tensor& input, std::optional<at::Tensor>& weight,
                   double eps) {
    at::Tensor factor = GivenOrOnes(weight, input);
    ::rms_norm(out, input, factor, eps);
  }
};

}  // namespace

void Operator<RmsNorm, Device::Type::kNvidia, 16>::Call(const Context& context,
                                                        const TensorView& input,
                                                        const std::optional<TensorView>& weight,
                                                        double eps, const TensorView& out) {
  linked::CallRmsNorm<Vllm>(context, input, weight, eps, out);
}

Support Operator<RmsNorm, Device::Type::kNvidia, 16>::Supports(const Context&,
                                                               const TensorView& input,
                                                               const std::optional<TensorView>&,
                                                               double, const TensorView& out) {
  return linked::SupportsFloats(input, out);
}

}  // namespace infini::ops
