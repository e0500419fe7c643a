// Rotation of pairs of elements, which the rotary operators share.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ROTARY_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ROTARY_H_

#include <cstring>

#include "native/cpu/vector/rows.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Pairs (2i, 2i + 1) instead of (i, i + half).
enum class Pairs { kHalves, kNeighbours };

/// Rotation of `half` pairs. Element 0 of pair i goes by `cos[0][i * step]` and `sin[0][i * step]`,
/// element 1 by those of [1].
struct Rotation {
  std::int64_t half;
  Pairs pairs;
  const float* cos[2];
  const float* sin[2];
  std::int64_t step;  // 1 for halves

  /// Writes the rotation of `x` to `y`, 2 * `half` elements each, which lie apart.
  void Apply(const float* x, float* y) const {
    if (pairs == Pairs::kNeighbours) {
      INFINI_OPS_INDEPENDENT
      for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t k = i * step;
        const float a = x[2 * i];
        const float b = x[2 * i + 1];
        y[2 * i] = a * cos[0][k] - b * sin[0][k];
        y[2 * i + 1] = b * cos[1][k] + a * sin[1][k];
      }
      return;
    }
    INFINI_OPS_INDEPENDENT
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = x[i];
      const float b = x[i + half];
      y[i] = a * cos[0][i] - b * sin[0][i];
      y[i + half] = b * cos[1][i] + a * sin[1][i];
    }
  }
};

/// Narrows `count` elements to places `stride` elements apart.
template <typename T>
void WriteFloats(const float* values, std::int64_t count, T* target, std::int64_t stride) {
  if constexpr (std::is_same_v<T, float>) {
    for (std::int64_t i = 0; i < count; ++i) target[i * stride] = values[i];
  } else {
    Scatter<T>(values, count, reinterpret_cast<char*>(target),
               stride * static_cast<std::int64_t>(sizeof(T)));
  }
}

/// Rotates the row `input` of `length` elements into the row `out`; both may be the same. Uses
/// `buffer` of 4 * `rotation.half` floats.
template <typename T>
void RotateRow(const Rotation& rotation, const T* input, std::int64_t input_stride, T* out,
               std::int64_t out_stride, std::int64_t length, float* buffer) {
  const std::int64_t turned = 2 * rotation.half;
  const float* x = ReadBlock(input, input_stride, turned, buffer);
  rotation.Apply(x, buffer + turned);
  WriteFloats(buffer + turned, turned, out, out_stride);
  if (out == input) return;
  for (std::int64_t i = turned; i < length; ++i) out[i * out_stride] = input[i * input_stride];
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ROTARY_H_
