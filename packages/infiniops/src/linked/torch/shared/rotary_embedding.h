// rotary_embedding by a provider that rotates [tokens, heads * size] in place.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_ROTARY_EMBEDDING_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_ROTARY_EMBEDDING_H_

#include "infini/ops/base/rotary_embedding.h"
#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"
#include "native/cpu/rotary_checks.h"

namespace infini::ops::linked {

struct RotaryEmbeddingTask {
  static constexpr const char* kOperator = RotaryEmbedding::kOperator;
  Operand input;
  Operand positions;
  Operand table;
  Operand out;
  std::int64_t offset;
  bool interleaved;

  template <class Backend>
  void Run() const {
    at::Tensor places = ToTensor<Backend>(positions).reshape({-1}).to(at::kLong).contiguous();
    if (offset != 0) places = places + offset;
    at::Tensor angles = ToTensor<Backend>(table).contiguous();
    // Providers read whatever is at a position, so nothing may be outside the table.
    if constexpr (Backend::kHostReadsTensors) {
      const auto least = places.min().item<std::int64_t>();
      const auto greatest = places.max().item<std::int64_t>();
      if (least < 0 || greatest >= angles.size(0)) {
        const std::int64_t wrong = least < 0 ? least : greatest;
        throw Error(ErrorCode::kInvalidArgument, kOperator, "",
                    "position " + std::to_string(wrong) + " is outside `cos_sin_cache` of " +
                        std::to_string(angles.size(0)) + " rows");
      }
    } else {
      if (angles.size(0) == 0) {
        throw Error(ErrorCode::kInvalidArgument, kOperator, "",
                    "`cos_sin_cache` has no rows, so it has none for any position");
      }
      places = places.clamp(0, angles.size(0) - 1);
    }
    Staged target(ToTensor<Backend>(out));
    at::Tensor source = ToTensor<Backend>(input);
    if (source.data_ptr() != target.tensor().data_ptr()) target.tensor().copy_(source);
    const std::int64_t heads = out.sizes[out.rank - 2];
    const std::int64_t size = out.sizes[out.rank - 1];
    at::Tensor flat = target.tensor().view({-1, heads * size});
    Backend::Call(places, flat, size, angles, !interleaved);
    target.CopyBack();
  }
};

template <class Backend>
void CallRotaryEmbedding(const Context& context, const TensorView& input,
                         const TensorView& positions, const TensorView& table, std::int64_t offset,
                         bool interleaved, const TensorView& out) {
  cpu::CheckAngles(RotaryEmbedding::kOperator, "cos_sin_cache", table, input);
  if (out.numel() == 0) return;
  const RotaryEmbeddingTask task = {
      MakeOperand(input), MakeOperand(positions), MakeOperand(table), MakeOperand(out), offset,
      interleaved};
  Launch<Backend>(context, task);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_ROTARY_EMBEDDING_H_
