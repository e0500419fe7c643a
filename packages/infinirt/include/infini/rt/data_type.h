// Element types, their sizes, names and DLPack codes.
#ifndef INFINI_RT_DATA_TYPE_H_
#define INFINI_RT_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "infini/rt/abi.h"

namespace infini::rt {

/// Element type of a tensor. The values are part of the ABI.
enum class DataType : std::uint8_t {
  kBool = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUInt8 = 5,
  kUInt16 = 6,
  kUInt32 = 7,
  kUInt64 = 8,
  kFloat16 = 9,
  kBFloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kComplex64 = 13,
  kComplex128 = 14,
  kFloat8E4M3FN = 15,
  kFloat8E5M2 = 16,
};

/// Number of values of `DataType`.
inline constexpr int kDataTypeCount = 17;

/// The three fields of DLPack's `DLDataType`.
struct DlpackDataType {
  std::uint8_t code;    ///< `DLDataTypeCode`.
  std::uint8_t bits;    ///< Size of one lane.
  std::uint16_t lanes;  ///< 1 for every type of this library.

  /// Whether all fields are equal.
  friend constexpr bool operator==(const DlpackDataType&, const DlpackDataType&) noexcept = default;
};

/// Returns whether `dtype` is a value of the enumeration.
constexpr bool IsValid(DataType dtype) noexcept { return static_cast<int>(dtype) < kDataTypeCount; }

/// Returns the size of one element in bytes; 0 for a value outside the enumeration.
constexpr std::size_t DataTypeSize(DataType dtype) noexcept {
  constexpr std::uint8_t kSizes[kDataTypeCount] = {1, 1, 2, 4, 8, 1,  2, 4, 8,
                                                   2, 2, 4, 8, 8, 16, 1, 1};
  return IsValid(dtype) ? kSizes[static_cast<int>(dtype)] : 0;
}

/// Returns PyTorch's name of `dtype` ("float32", "bfloat16", ...); "invalid" outside the
/// enumeration.
INFINI_RT_EXPORT const char* DataTypeName(DataType dtype) noexcept;

/// Returns the type whose `DataTypeName` is `name`. Throws `Error` (type mismatch) that lists the
/// names.
INFINI_RT_EXPORT DataType ParseDataType(std::string_view name);

/// Returns DLPack's description of `dtype`. Throws `Error` (type mismatch) outside the enumeration.
INFINI_RT_EXPORT DlpackDataType ToDlpack(DataType dtype);

/// Returns the type that DLPack describes as `dtype`, or nothing when there is none (several lanes,
/// sub-byte types).
INFINI_RT_EXPORT std::optional<DataType> FromDlpack(DlpackDataType dtype) noexcept;

/// Returns whether `dtype` is a real floating type (float8 to float64, bfloat16).
constexpr bool IsFloating(DataType dtype) noexcept {
  return (dtype >= DataType::kFloat16 && dtype <= DataType::kFloat64) ||
         dtype == DataType::kFloat8E4M3FN || dtype == DataType::kFloat8E5M2;
}

/// Returns whether `dtype` is complex64 or complex128.
constexpr bool IsComplex(DataType dtype) noexcept {
  return dtype == DataType::kComplex64 || dtype == DataType::kComplex128;
}

/// Returns whether `dtype` is a signed or unsigned integer; bool is not.
constexpr bool IsInteger(DataType dtype) noexcept {
  return dtype >= DataType::kInt8 && dtype <= DataType::kUInt64;
}

}  // namespace infini::rt

#endif  // INFINI_RT_DATA_TYPE_H_
