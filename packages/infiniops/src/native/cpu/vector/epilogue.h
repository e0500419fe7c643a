// What follows the sums of a product before they are rounded.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_EPILOGUE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_EPILOGUE_H_

#include <cstdint>
#include <cstring>

#include "native/cpu/shared/product.h"
#include "native/cpu/vector/activations.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Replaces each of `count` numbers by `function` of it, which takes vectors.
template <typename Function>
void MapRow(float* values, std::int64_t count, Function function) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(function(Load(values + i)), values + i);
  if (i == count) return;
  // What lies behind the row may be another row.
  float rest[kLanes] = {};
  const std::size_t bytes = static_cast<std::size_t>(count - i) * sizeof(float);
  std::memcpy(rest, values + i, bytes);
  Store(function(Load(rest)), rest);
  std::memcpy(values + i, rest, bytes);
}

template <typename Function>
void MapRow(double* values, std::int64_t count, Function function) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
}

/// Applies `epilogue` to a row of sums.
template <typename Sum>
void ApplyEpilogue(Epilogue epilogue, Sum* values, std::int64_t count) {
  switch (epilogue) {
    case Epilogue::kNone:
      return;
    case Epilogue::kRelu:
      return MapRow(values, count, [](auto x) { return x < decltype(x){} ? decltype(x){} : x; });
    case Epilogue::kSilu:
      return MapRow(values, count, [](auto x) { return Silu(x); });
    case Epilogue::kGelu:
      return MapRow(values, count, [](auto x) { return Gelu(x); });
    case Epilogue::kGeluTanh:
      return MapRow(values, count, [](auto x) { return GeluTanh(x); });
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_EPILOGUE_H_
