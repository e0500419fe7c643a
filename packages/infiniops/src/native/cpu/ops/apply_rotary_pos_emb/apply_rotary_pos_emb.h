// apply_rotary_pos_emb for the CPU: see src/base/apply_rotary_pos_emb.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_APPLY_ROTARY_POS_EMB_H_
#define INFINI_OPS_NATIVE_CPU_OPS_APPLY_ROTARY_POS_EMB_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct ApplyRotaryPosEmbTask {
  Rows input;
  Rows cos;  // one row for each of `input`
  Rows sin;
  Rows out;
  bool interleaved;
  rt::DataType dtype;
  rt::DataType angle_dtype;
};
INFINI_OPS_CPU_KERNEL(ApplyRotaryPosEmbTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include "native/cpu/vector/rotary.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

template <typename T, typename A>
void ApplyRows(const ApplyRotaryPosEmbTask& task, std::int64_t begin, std::int64_t end) {
  const std::int64_t turned = task.cos.length;
  const std::int64_t half = turned / 2;
  auto* buffers = static_cast<float*>(
      Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(4 * turned) * sizeof(float)));
  for (std::int64_t row = begin; row < end; ++row) {
    const float* cos = ReadBlock(reinterpret_cast<const A*>(task.cos.data) + task.cos.Offset(row),
                                 task.cos.inner_stride, turned, buffers);
    const float* sin = ReadBlock(reinterpret_cast<const A*>(task.sin.data) + task.sin.Offset(row),
                                 task.sin.inner_stride, turned, buffers + turned);
    const std::int64_t second = task.interleaved ? 1 : half;
    const Rotation rotation = {.half = half,
                               .pairs = task.interleaved ? Pairs::kNeighbours : Pairs::kHalves,
                               .cos = {cos, cos + second},
                               .sin = {sin, sin + second},
                               .step = task.interleaved ? 2 : 1};
    RotateRow(rotation, reinterpret_cast<const T*>(task.input.data) + task.input.Offset(row),
              task.input.inner_stride, reinterpret_cast<T*>(task.out.data) + task.out.Offset(row),
              task.out.inner_stride, task.input.length, buffers + 2 * turned);
  }
}

void Run(const ApplyRotaryPosEmbTask& task) {
  VisitFloatDtype(task.dtype, [&]<typename T>(Type<T>) {
    const auto run = [&]<typename A>(Type<A>) {
      rt::ParallelFor(
          task.out.count, kElementGrain / task.out.length + 1,
          [&](std::int64_t begin, std::int64_t end) { ApplyRows<T, A>(task, begin, end); });
    };
    if (task.angle_dtype == rt::DataType::kFloat32) {
      run(Type<float>());
    } else {
      run(Type<T>());
    }
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <string>
#include <vector>

#include "infini/ops/base/apply_rotary_pos_emb.h"
#include "native/cpu/rotary_checks.h"

namespace infini::ops {

template <>
struct Operator<ApplyRotaryPosEmb, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& cos,
                   const TensorView& sin, bool interleaved, const TensorView& out) {
    cpu::CheckAngles(ApplyRotaryPosEmb::kOperator, "cos", cos, input);
    const TensorView wide_cos = Broadcast(cos, input);
    const TensorView wide_sin = Broadcast(sin, input);
    if (out.numel() == 0) return;
    const cpu::ApplyRotaryPosEmbTask task = {
        .input = cpu::MakeRows(ApplyRotaryPosEmb::kOperator, input),
        .cos = cpu::MakeRows(ApplyRotaryPosEmb::kOperator, wide_cos),
        .sin = cpu::MakeRows(ApplyRotaryPosEmb::kOperator, wide_sin),
        .out = cpu::MakeRows(ApplyRotaryPosEmb::kOperator, out),
        .interleaved = interleaved,
        .dtype = out.dtype(),
        .angle_dtype = cos.dtype(),
    };
    cpu::Launch(context, task);
  }

 private:
  /// `angles` with the leading dimensions of `input`.
  static TensorView Broadcast(const TensorView& angles, const TensorView& input) {
    const auto wanted = input.shape();
    const auto own = angles.shape();
    std::vector<std::int64_t> shape(wanted.begin(), wanted.end());
    std::vector<std::int64_t> strides(shape.size(), 0);
    shape.back() = own.back();
    bool fits = own.size() <= shape.size();
    for (std::size_t i = 0; fits && i < own.size(); ++i) {
      const std::size_t at = shape.size() - own.size() + i;
      if (own[i] == shape[at]) strides[at] = angles.strides()[i];
      fits = own[i] == shape[at] || own[i] == 1;
    }
    if (!fits) {
      throw Error(
          ErrorCode::kInvalidArgument, ApplyRotaryPosEmb::kOperator, input.device().ToString(),
          "`cos` and `sin` are " + angles.ToString() +
              "; expected leading sizes that broadcast to those of `input`, " + input.ToString());
    }
    return TensorView(angles.data(), shape, strides, angles.dtype(), angles.device());
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_APPLY_ROTARY_POS_EMB_H_
