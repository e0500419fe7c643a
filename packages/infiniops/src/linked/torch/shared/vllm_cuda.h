// What the kernels of the wheel vllm have in common on devices that PyTorch drives as CUDA ones.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CUDA_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CUDA_H_

#include <ATen/ATen.h>

#include <optional>

#include "linked/torch/shared/c10_cuda_device.h"

namespace infini::ops::linked {

template <Device::Type type>
struct VllmCuda : C10Device<type> {
  static constexpr char kProvider[] = "vllm";

  /// Its norms always take a weight.
  static at::Tensor GivenOrOnes(const std::optional<at::Tensor>& weight, const at::Tensor& input) {
    return weight ? *weight : at::ones({input.size(-1)}, input.options());
  }
};

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CUDA_H_
