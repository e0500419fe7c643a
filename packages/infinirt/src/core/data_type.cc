#include "infini/rt/data_type.h"

#include <string>

#include "infini/rt/error.h"

namespace infini::rt {
namespace {

struct TypeRow {
  const char* name;
  std::uint8_t dlpack_code;  // DLDataTypeCode
};

// In the order of `DataType`. DLPack codes: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10
// float8_e4m3fn, 12 float8_e5m2.
constexpr TypeRow kRows[kDataTypeCount] = {
    {"bool", 6},           {"int8", 0},         {"int16", 0},   {"int32", 0},     {"int64", 0},
    {"uint8", 1},          {"uint16", 1},       {"uint32", 1},  {"uint64", 1},    {"float16", 2},
    {"bfloat16", 4},       {"float32", 2},      {"float64", 2}, {"complex64", 5}, {"complex128", 5},
    {"float8_e4m3fn", 10}, {"float8_e5m2", 12},
};

}  // namespace

const char* DataTypeName(DataType dtype) noexcept {
  return IsValid(dtype) ? kRows[static_cast<int>(dtype)].name : "invalid";
}

DataType ParseDataType(std::string_view name) {
  std::string names;
  for (int i = 0; i < kDataTypeCount; ++i) {
    if (name == kRows[i].name) return static_cast<DataType>(i);
    names.append(names.empty() ? "" : ", ").append(kRows[i].name);
  }
  throw Error(ErrorCode::kTypeMismatch, "ParseDataType", "",
              "unknown data type \"" + std::string(name) + "\"; expected one of " + names);
}

DlpackDataType ToDlpack(DataType dtype) {
  if (!IsValid(dtype)) {
    throw Error(ErrorCode::kTypeMismatch, "ToDlpack", "",
                "value " + std::to_string(static_cast<int>(dtype)) + " is not a data type");
  }
  return {kRows[static_cast<int>(dtype)].dlpack_code,
          static_cast<std::uint8_t>(8 * DataTypeSize(dtype)), 1};
}

std::optional<DataType> FromDlpack(DlpackDataType dtype) noexcept {
  for (int i = 0; i < kDataTypeCount; ++i) {
    const DataType candidate = static_cast<DataType>(i);
    if (dtype == DlpackDataType{kRows[i].dlpack_code,
                                static_cast<std::uint8_t>(8 * DataTypeSize(candidate)), 1}) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace infini::rt
