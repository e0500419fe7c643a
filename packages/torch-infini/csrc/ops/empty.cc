#include "ops/empty.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/TensorImpl.h>

#include "ops/tensor_view.h"
#include "runtime/allocator.h"
#include "runtime/device.h"

namespace torch_infini {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

struct Options {
  c10::ScalarType type;
  c10::DeviceIndex device;
};

Options CheckOptions(const char* function, std::optional<c10::ScalarType> type,
                     std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                     std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::Layout::Strided, function,
                              " on infini: only strided tensors exist, not layout ", *layout);
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory), function,
              " on infini: pin_memory is for tensors of the CPU");
  const c10::ScalarType scalar_type = c10::dtype_or_default(type);
  TORCH_CHECK_NOT_IMPLEMENTED(ToDataType(scalar_type).has_value(), function,
                              " on infini: no element type ", TypeName(scalar_type));
  const c10::DeviceIndex index = CheckedDevice(device.has_value() ? device->index() : -1);
  return {scalar_type, index};
}

at::Tensor Empty(c10::SymIntArrayRef sizes, std::optional<c10::ScalarType> type,
                 std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> format) {
  const Options options = CheckOptions("empty", type, layout, device, pin_memory);
  const c10::IntArrayRef shape = C10_AS_INTARRAYREF_SLOW(sizes);
  if (format.value_or(c10::MemoryFormat::Contiguous) == c10::MemoryFormat::Contiguous) {
    return EmptyStrided(shape, c10::contiguous_strides(shape), options.type, options.device);
  }
  const c10::DeviceGuard guard({kDeviceType, options.device});
  return at::detail::empty_generic(shape, &Allocator(), kKeys, options.type, format);
}

at::Tensor EmptyStridedEntry(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                             std::optional<c10::ScalarType> type, std::optional<c10::Layout> layout,
                             std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  const Options options = CheckOptions("empty_strided", type, layout, device, pin_memory);
  return EmptyStrided(C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
                      options.type, options.device);
}

/// Zeros without memory, which PyTorch's formulas for gradients make.
at::Tensor EfficientZeros(c10::SymIntArrayRef sizes, std::optional<c10::ScalarType> type,
                          std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                          std::optional<bool> pin_memory) {
  const Options options = CheckOptions("_efficientzerotensor", type, layout, device, pin_memory);
  at::native::ZeroTensorAllocator allocator(c10::Device(kDeviceType, options.device));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(sizes), &allocator,
                                   kKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
                                   options.type, std::nullopt);
}

}  // namespace

std::string TypeName(c10::ScalarType type) {
  if (const auto known = ToDataType(type)) {
    return infini::rt::DataTypeName(*known);
  }
  return c10::toString(type);
}

at::Tensor EmptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType type,
                        c10::DeviceIndex device) {
  at::detail::check_size_nonnegative(sizes);
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(type);
  const std::size_t bytes = at::detail::computeStorageNbytes(sizes, strides, meta.itemsize());
  // The device is named here, so that no guard has to change the current one.
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       Allocate(bytes, device), &Allocator(),
                                                       /*resizable=*/true);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), kKeys, meta);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

void RegisterEmpty(torch::Library& library) {
  library.impl("empty.memory_format", TORCH_FN(Empty));
  library.impl("empty_strided", TORCH_FN(EmptyStridedEntry));
  library.impl("_efficientzerotensor", TORCH_FN(EfficientZeros));
}

}  // namespace torch_infini
