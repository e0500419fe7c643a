// rotary_embedding for the CPU: see src/base/rotary_embedding.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ROTARY_EMBEDDING_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ROTARY_EMBEDDING_H_

#include "native/cpu/indices.h"
#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct RotaryEmbeddingTask {
  Rows input;
  Rows out;
  std::int64_t heads;  // rows of a token
  Indices positions;
  std::int64_t offset;
  Rows table;
  bool interleaved;
  rt::DataType dtype;
  rt::DataType table_dtype;
};
INFINI_OPS_CPU_KERNEL(RotaryEmbeddingTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include "native/cpu/vector/rotary.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Rotates the heads of the tokens [begin, end).
template <typename T>
void RotateTokens(const RotaryEmbeddingTask& task, std::int64_t begin, std::int64_t end) {
  const std::int64_t turned = task.table.length;
  auto* angles = static_cast<float*>(
      Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(3 * turned) * sizeof(float)));
  float* buffer = angles + turned;
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int64_t at = task.table.Offset(task.positions.Get(token) + task.offset);
    const float* row = nullptr;
    VisitFloatDtype(task.table_dtype, [&]<typename A>(Type<A>) {
      row = ReadBlock(reinterpret_cast<const A*>(task.table.data) + at, task.table.inner_stride,
                      turned, angles);
    });
    const std::int64_t half = turned / 2;
    const Rotation rotation = {.half = half,
                               .pairs = task.interleaved ? Pairs::kNeighbours : Pairs::kHalves,
                               .cos = {row, row},
                               .sin = {row + half, row + half},
                               .step = 1};
    for (std::int64_t r = token * task.heads; r < (token + 1) * task.heads; ++r) {
      RotateRow(rotation, reinterpret_cast<const T*>(task.input.data) + task.input.Offset(r),
                task.input.inner_stride, reinterpret_cast<T*>(task.out.data) + task.out.Offset(r),
                task.out.inner_stride, task.input.length, buffer);
    }
  }
}

void Run(const RotaryEmbeddingTask& task) {
  CheckIndices("rotary_embedding", "positions", task.positions, -task.offset,
               task.table.count - 1 - task.offset, "the rows of `cos_sin_cache` less `offset`");
  const std::int64_t elements = task.heads * task.input.length;
  const std::int64_t tokens = task.input.count / task.heads;
  VisitFloatDtype(task.dtype, [&]<typename T>(Type<T>) {
    rt::ParallelFor(
        tokens, kElementGrain / elements + 1,
        [&](std::int64_t begin, std::int64_t end) { RotateTokens<T>(task, begin, end); });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/rotary_embedding.h"
#include "native/cpu/rotary_checks.h"

namespace infini::ops {

template <>
struct Operator<RotaryEmbedding, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& positions,
                   const TensorView& cos_sin_cache, std::int64_t offset, bool interleaved,
                   const TensorView& out) {
    cpu::CheckAngles(RotaryEmbedding::kOperator, "cos_sin_cache", cos_sin_cache, input);
    if (out.numel() == 0) return;
    const cpu::RotaryEmbeddingTask task = {
        .input = cpu::MakeRows(RotaryEmbedding::kOperator, input),
        .out = cpu::MakeRows(RotaryEmbedding::kOperator, out),
        .heads = input.size(-2),
        .positions = cpu::MakeIndices(RotaryEmbedding::kOperator, positions),
        .offset = offset,
        .table = cpu::MakeRows(RotaryEmbedding::kOperator, cos_sin_cache),
        .interleaved = interleaved,
        .dtype = out.dtype(),
        .table_dtype = cos_sin_cache.dtype(),
    };
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ROTARY_EMBEDDING_H_
