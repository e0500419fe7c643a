// Element types inside kernels: how each is stored and computed with.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_DTYPE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_DTYPE_H_

#include <infini/rt/data_type.h>

#include <cstdint>

#include "native/cpu/vector/float16.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// A bool as it is stored: any byte but 0 is true, and true is written as 1.
struct Bool {
  std::uint8_t byte;
};

template <typename Real>
struct Complex {
  Real re;
  Real im;
};

/// Carries a type to a visitor.
template <typename T>
struct Type {
  using type = T;
};

/// Calls `visitor(Type<T>())` with the storage type of `dtype`, which must be
/// one of bool, the integers, the 16- to 64-bit floats and the complex types.
template <typename Visitor>
void VisitDtype(rt::DataType dtype, Visitor visitor) {
  switch (dtype) {
    case rt::DataType::kBool:
      return visitor(Type<Bool>());
    case rt::DataType::kInt8:
      return visitor(Type<std::int8_t>());
    case rt::DataType::kInt16:
      return visitor(Type<std::int16_t>());
    case rt::DataType::kInt32:
      return visitor(Type<std::int32_t>());
    case rt::DataType::kInt64:
      return visitor(Type<std::int64_t>());
    case rt::DataType::kUInt8:
      return visitor(Type<std::uint8_t>());
    case rt::DataType::kUInt16:
      return visitor(Type<std::uint16_t>());
    case rt::DataType::kUInt32:
      return visitor(Type<std::uint32_t>());
    case rt::DataType::kUInt64:
      return visitor(Type<std::uint64_t>());
    case rt::DataType::kFloat16:
      return visitor(Type<Float16>());
    case rt::DataType::kBFloat16:
      return visitor(Type<BFloat16>());
    case rt::DataType::kFloat32:
      return visitor(Type<float>());
    case rt::DataType::kFloat64:
      return visitor(Type<double>());
    case rt::DataType::kComplex64:
      return visitor(Type<Complex<float>>());
    case rt::DataType::kComplex128:
      return visitor(Type<Complex<double>>());
    default:
      __builtin_unreachable();  // the entry's checks admit no other
  }
}

/// 16 bytes that are copied as one.
struct TwoWords {
  std::uint64_t words[2];
};

/// Calls `visitor(Type<T>())` with a type of `size` bytes: 1, 2, 4, 8 or 16.
template <typename Visitor>
void VisitElementSize(std::int64_t size, Visitor visitor) {
  switch (size) {
    case 1:
      return visitor(Type<std::uint8_t>());
    case 2:
      return visitor(Type<std::uint16_t>());
    case 4:
      return visitor(Type<std::uint32_t>());
    case 8:
      return visitor(Type<std::uint64_t>());
    default:
      return visitor(Type<TwoWords>());
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_DTYPE_H_
