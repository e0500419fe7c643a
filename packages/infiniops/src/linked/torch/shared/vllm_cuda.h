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

/// Its writes to a paged cache, by the one of its functions that knows the layout.
template <Device::Type type, auto function>
struct VllmPageWrites : VllmCuda<type> {
  static void Call(at::Tensor& key, at::Tensor& value, at::Tensor& key_cache,
                   at::Tensor& value_cache, at::Tensor& slots) {
    // "auto" keeps the dtype of the keys, for which the scales are not read.
    at::Tensor scale = at::ones({1}, key.options().dtype(at::kFloat));
    function(key, value, key_cache, value_cache, slots, "auto", scale, scale);
  }
};

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CUDA_H_
