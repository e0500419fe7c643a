#include "linked/torch/cpu/ops/silu/pytorch.h"

#include "linked/torch/shared/gated.h"

namespace infini::ops {
namespace {

struct PyTorch : linked::C10Device<Device::Type::kCpu> {
  static constexpr char kProvider[] = "torch";
  static void Call(at::Tensor& out, const at::Tensor& input) { out.copy_(at::silu(input)); }
};

}  // namespace

void Operator<Silu, Device::Type::kCpu, 16>::Call(const Context& context, const TensorView& input,
                                                  const TensorView& out) {
  linked::CallGated<Silu, PyTorch>(context, input, out);
}

Support Operator<Silu, Device::Type::kCpu, 16>::Supports(const Context&, const TensorView& input,
                                                         const TensorView& out) {
  return linked::SupportsFloats(input, out);
}

}  // namespace infini::ops
