// Names, sizes and DLPack codes of element types agree with each other.
#include "infini/rt/data_type.h"

#include "check.h"

using namespace infini::rt;

int main() {
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto dtype = static_cast<DataType>(i);
    CHECK(ParseDataType(DataTypeName(dtype)) == dtype);
    const DlpackDataType dlpack = ToDlpack(dtype);
    CHECK_EQ(static_cast<std::size_t>(dlpack.bits), 8 * DataTypeSize(dtype));
    CHECK(FromDlpack(dlpack) == dtype);
    CHECK(!FromDlpack({dlpack.code, dlpack.bits, 2}).has_value());
    CHECK(IsFloating(dtype) + IsComplex(dtype) + IsInteger(dtype) + (dtype == DataType::kBool) ==
          1);
  }
  CHECK((ToDlpack(DataType::kBFloat16) == DlpackDataType{4, 16, 1}));
  CHECK((ToDlpack(DataType::kFloat8E4M3FN) == DlpackDataType{10, 8, 1}));
  CHECK((ToDlpack(DataType::kBool) == DlpackDataType{6, 8, 1}));
  CHECK(!FromDlpack({2, 128, 1}).has_value());
  CHECK(!FromDlpack({17, 4, 1}).has_value());
  CHECK_EQ(DataTypeSize(DataType::kComplex128), std::size_t{16});

  const auto invalid = static_cast<DataType>(77);
  CHECK_EQ(DataTypeSize(invalid), std::size_t{0});
  CHECK_EQ(std::string(DataTypeName(invalid)), std::string("invalid"));
  CHECK_THROWS(ToDlpack(invalid), ErrorCode::kTypeMismatch, "77");
  CHECK_THROWS(ParseDataType("float"), ErrorCode::kTypeMismatch, "float32");
  return testing::Finish();
}
