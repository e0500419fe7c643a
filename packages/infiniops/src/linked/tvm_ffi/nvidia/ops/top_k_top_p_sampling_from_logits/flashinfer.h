// top_k_top_p_sampling_from_logits by FlashInfer's compiled sampling module; see flashinfer.yaml.
#ifndef INFINI_OPS_LINKED_TVM_FFI_NVIDIA_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_FLASHINFER_H_
#define INFINI_OPS_LINKED_TVM_FFI_NVIDIA_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_FLASHINFER_H_

#include "core/operator.h"
#include "infini/ops/base/top_k_top_p_sampling_from_logits.h"

namespace infini::ops {

template <>
struct Operator<TopKTopPSamplingFromLogits, Device::Type::kNvidia, 16> {
  static constexpr char kName[] = "flashinfer";

  static void Call(const Context& context, const TensorView& logits,
                   const std::optional<TensorView>& top_k_rows,
                   const std::optional<TensorView>& top_p_rows, std::int64_t top_k, double top_p,
                   std::int64_t seed, std::int64_t offset, const TensorView& samples,
                   const TensorView& valid);
  static Support Supports(const Context& context, const TensorView& logits,
                          const std::optional<TensorView>& top_k_rows,
                          const std::optional<TensorView>& top_p_rows, std::int64_t top_k,
                          double top_p, std::int64_t seed, std::int64_t offset,
                          const TensorView& samples, const TensorView& valid);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_LINKED_TVM_FFI_NVIDIA_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_FLASHINFER_H_
