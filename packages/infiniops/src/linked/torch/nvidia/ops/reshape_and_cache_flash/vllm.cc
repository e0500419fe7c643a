#include "linked/torch/nvidia/ops/reshape_and_cache_flash/vllm.h"

#include <string>

#include "linked/torch/shared/page_writes.h"
#include "linked/torch/shared/vllm_cuda.h"

// vllm's, as its contract has it.
void reshape_and_cache_flash(at::Tensor& key, at::Tensor& value, at::Tensor& key_cache,
                             at::Tensor& value_cache, at::Tensor& slot_mapping,
                             const std::string& kv_cache_dtype, at::Tensor& k_scale,
                             at::Tensor& v_scale);

namespace infini::ops {
namespace {

using Vllm = linked::VllmPageWrites<Device::Type::kNvidia, &::reshape_and_cache_flash>;

}  // namespace

void Operator<ReshapeAndCacheFlash, Device::Type::kNvidia, 16>::Call(
    const Context& context, const TensorView& key, const TensorView& value,
    const TensorView& key_cache, const TensorView& value_cache, const TensorView& slot_mapping) {
  linked::CallPageWrites<ReshapeAndCacheFlash, Vllm>(context, key, value, key_cache, value_cache,
                                                     slot_mapping);
}

Support Operator<ReshapeAndCacheFlash, Device::Type::kNvidia, 16>::Supports(
    const Context&, const TensorView& key, const TensorView&, const TensorView& key_cache,
    const TensorView& value_cache, const TensorView&) {
  return linked::SupportsPages(key, key_cache, value_cache);
}

}  // namespace infini::ops
