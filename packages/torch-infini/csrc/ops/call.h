// What every call of an InfiniOps operator shares: checks, context, views.
#ifndef TORCH_INFINI_OPS_CALL_H_
#define TORCH_INFINI_OPS_CALL_H_

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <infini/ops/context.h>
#include <infini/ops/scalar.h>
#include <infini/rt/tensor_view.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "ops/tensor_view.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace torch_infini {

/// An operator of the InfiniOps that torch-infini was built with.
struct OperatorInfo {
  const char* name;          ///< In InfiniOps, for example "rms_norm".
  const char* overload;      ///< In PyTorch, for example "aten::add.out".
  std::uint32_t data_types;  ///< Bit i: takes `DataType` of value i.

  constexpr bool Takes(infini::rt::DataType type) const noexcept {
    return (data_types >> static_cast<int>(type) & 1U) != 0;
  }
};

/// Whether the name of `type` is one of `names`.
template <std::size_t kCount>
bool IsOneOf(const char* const (&names)[kCount], c10::ScalarType type) {
  const auto known = ToDataType(type);
  if (!known.has_value()) return false;
  const std::string_view name = infini::rt::DataTypeName(*known);
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Throws the `NotImplementedError` for an element type without a kernel.
[[noreturn]] void ThrowUnsupportedType(const OperatorInfo& info, c10::ScalarType type,
                                       c10::Device device);

/// Checks that `info` has kernels for `type`.
inline void CheckType(const OperatorInfo& info, c10::ScalarType type, c10::Device device) {
  const auto known = ToDataType(type);
  if (!known.has_value() || !info.Takes(*known)) [[unlikely]] {
    ThrowUnsupportedType(info, type, device);
  }
}

/// Checks that `info` has kernels for operands of `type`, or for a result of `out`, to which a
/// reduction may convert them.
inline void CheckEitherType(const OperatorInfo& info, c10::ScalarType type, c10::ScalarType out,
                            c10::Device device) {
  const auto known = ToDataType(out);
  if (!known.has_value() || !info.Takes(*known)) CheckType(info, type, device);
}

/// Checks that `tensor` is a strided tensor on `device`.
void CheckPlace(const OperatorInfo& info, const char* argument, const at::Tensor& tensor,
                c10::Device device);

/// The same for a tensor that may be absent.
inline void CheckPlace(const OperatorInfo& info, const char* argument,
                       const std::optional<at::Tensor>& tensor, c10::Device device) {
  if (tensor.has_value() && tensor->defined()) CheckPlace(info, argument, *tensor, device);
}

/// The same for each tensor of a list.
inline void CheckPlace(const OperatorInfo& info, const char* argument,
                       const at::ITensorListRef& tensors, c10::Device device) {
  for (const at::Tensor& tensor : tensors) CheckPlace(info, argument, tensor, device);
}

/// Checks that `tensor` has the element type of the operator's main argument.
void CheckSameType(const OperatorInfo& info, const char* argument, const at::Tensor& tensor,
                   const char* main_argument, const at::Tensor& main);

/// Checks that `out` can take a result of `type` on `device`: of this type alone,
/// or of one that PyTorch `converts` to.
void CheckOut(const OperatorInfo& info, const at::Tensor& out, c10::Device device,
              c10::ScalarType type, bool converts);

/// The context and the views of one call on one device.
class Call {
 public:
  explicit Call(c10::DeviceIndex device) {
    BoundThread();
    context_.device = RuntimeDevice(device);
    context_.stream = CurrentRuntimeStream(device);
  }

  const infini::ops::Context& context() const noexcept { return context_; }

  infini::rt::TensorView View(const at::Tensor& tensor) const {
    return ToTensorView(tensor, context_.device);
  }

  std::optional<infini::rt::TensorView> View(const std::optional<at::Tensor>& tensor) const {
    if (!tensor.has_value() || !tensor->defined()) return std::nullopt;
    return View(*tensor);
  }

 private:
  infini::ops::Context context_;
};

inline infini::ops::Scalar ToScalar(const at::Scalar& scalar) {
  switch (scalar.type()) {
    case c10::ScalarType::Bool:
      return scalar.to<bool>();
    case c10::ScalarType::Long:
      return scalar.to<std::int64_t>();
    case c10::ScalarType::UInt64:
      return scalar.to<std::uint64_t>();
    case c10::ScalarType::ComplexDouble: {
      const auto value = scalar.to<c10::complex<double>>();
      return std::complex<double>(value.real(), value.imag());
    }
    default:
      return scalar.to<double>();
  }
}

inline std::optional<infini::ops::Scalar> ToScalar(const std::optional<at::Scalar>& scalar) {
  if (!scalar.has_value()) return std::nullopt;
  return ToScalar(*scalar);
}

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_CALL_H_
