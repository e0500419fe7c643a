// Between `at::Tensor` and the types of InfiniRT and InfiniOps.
#ifndef TORCH_INFINI_OPS_TENSOR_VIEW_H_
#define TORCH_INFINI_OPS_TENSOR_VIEW_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <infini/rt/data_type.h>
#include <infini/rt/device.h>
#include <infini/rt/tensor_view.h>

#include <cstddef>
#include <optional>
#include <span>

namespace torch_infini {

/// InfiniRT's element type for `type`; nothing for types that it lacks
/// (quantised and sub-byte ones).
constexpr std::optional<infini::rt::DataType> ToDataType(c10::ScalarType type) {
  using infini::rt::DataType;
  switch (type) {
    case c10::ScalarType::Bool:
      return DataType::kBool;
    case c10::ScalarType::Char:
      return DataType::kInt8;
    case c10::ScalarType::Short:
      return DataType::kInt16;
    case c10::ScalarType::Int:
      return DataType::kInt32;
    case c10::ScalarType::Long:
      return DataType::kInt64;
    case c10::ScalarType::Byte:
      return DataType::kUInt8;
    case c10::ScalarType::UInt16:
      return DataType::kUInt16;
    case c10::ScalarType::UInt32:
      return DataType::kUInt32;
    case c10::ScalarType::UInt64:
      return DataType::kUInt64;
    case c10::ScalarType::Half:
      return DataType::kFloat16;
    case c10::ScalarType::BFloat16:
      return DataType::kBFloat16;
    case c10::ScalarType::Float:
      return DataType::kFloat32;
    case c10::ScalarType::Double:
      return DataType::kFloat64;
    case c10::ScalarType::ComplexFloat:
      return DataType::kComplex64;
    case c10::ScalarType::ComplexDouble:
      return DataType::kComplex128;
    case c10::ScalarType::Float8_e4m3fn:
      return DataType::kFloat8E4M3FN;
    case c10::ScalarType::Float8_e5m2:
      return DataType::kFloat8E5M2;
    default:
      return std::nullopt;
  }
}

/// PyTorch's Python name of `type` ("float32"), for messages.
std::string TypeName(c10::ScalarType type);

/// Address of the first element of an infini tensor. A plain number to the
/// host, which may be unable to read it.
inline void* DataOf(const at::Tensor& tensor) {
  auto* const base = static_cast<std::byte*>(tensor.storage().data_ptr().get());
  if (base == nullptr) return nullptr;
  return base + tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize());
}

/// Describes `tensor`, whose element type InfiniRT has, on `device`.
inline infini::rt::TensorView ToTensorView(const at::Tensor& tensor, infini::rt::Device device) {
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  return {DataOf(tensor), std::span(sizes.data(), sizes.size()),
          std::span(strides.data(), strides.size()), *ToDataType(tensor.scalar_type()), device};
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_TENSOR_VIEW_H_
