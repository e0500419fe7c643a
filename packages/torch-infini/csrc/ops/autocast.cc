// `ATen/autocast_mode.h`, which holds PyTorch's lists, includes all of ATen;
// no other file does.
#include "ops/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/headeronly/version.h>

namespace torch_infini {
namespace {

// PyTorch's macros below name these as in namespace `at`.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
using at::DimnameList;
#endif
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;

Tensor RefuseBinaryCrossEntropy(const Tensor& /*self*/, const Tensor& /*target*/,
                                const std::optional<Tensor>& /*weight*/,
                                std::int64_t /*reduction*/) {
  TORCH_CHECK(false,
              "binary_cross_entropy and BCELoss are unsafe to autocast: a sigmoid in low precision "
              "may round to 0 or 1. Use binary_cross_entropy_with_logits or BCEWithLogitsLoss");
}

}  // namespace

// They call the library `m`.
void RegisterAutocast(torch::Library& m, torch::Library& fallback) {
  fallback.fallback(torch::CppFunction::makeFallthrough());

#define TORCH_INFINI_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define TORCH_INFINI_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define TORCH_INFINI_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define TORCH_INFINI_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(TORCH_INFINI_LOWER_PRECISION)
  AT_FORALL_FP32(TORCH_INFINI_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(TORCH_INFINI_FP32_SET_OPT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(TORCH_INFINI_PROMOTE)
#undef TORCH_INFINI_LOWER_PRECISION
#undef TORCH_INFINI_FP32
#undef TORCH_INFINI_FP32_SET_OPT_DTYPE
#undef TORCH_INFINI_PROMOTE

  m.impl("binary_cross_entropy", TORCH_FN(RefuseBinaryCrossEntropy));
}

}  // namespace torch_infini
