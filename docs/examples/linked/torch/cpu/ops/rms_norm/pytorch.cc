#include "linked/torch/cpu/ops/rms_norm/pytorch.h"

#include "linked/torch/shared/rms_norm.h"

namespace infini::ops {
namespace {

struct PyTorch : linked::C10Device<Device::Type::kCpu> {
  static constexpr char kProvider[] = "torch";
  static void Call(at::Tensor& out, const at::Tensor& input,
                   const std::optional<at::Tensor>& weight, double eps) {
    out.copy_(at::rms_norm(input, input.sizes().slice(input.dim() - 1), weight, eps));
  }
};

}  // namespace

void Operator<RmsNorm, Device::Type::kCpu, 18>::Call(const Context& context,
                                                     const TensorView& input,
                                                     const std::optional<TensorView>& weight,
                                                     double eps, const TensorView& out) {
  linked::CallRmsNorm<PyTorch>(context, input, weight, eps, out);
}

Support Operator<RmsNorm, Device::Type::kCpu, 18>::Supports(const Context&, const TensorView& input,
                                                            const std::optional<TensorView>&,
                                                            double, const TensorView& out) {
  return linked::SupportsFloats(input, out);
}

}  // namespace infini::ops
