#include "ops/view.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include "ops/empty.h"
#include "runtime/device.h"

namespace torch_infini {
namespace {

at::Tensor View(const at::Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor AsStrided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<c10::SymInt> offset) {
  std::optional<std::int64_t> plain;
  if (offset.has_value()) plain = offset->guard_int(__FILE__, __LINE__);
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), plain);
}

at::Tensor ReshapeAlias(const at::Tensor& self, c10::SymIntArrayRef size,
                        c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size),
                                    C10_AS_INTARRAYREF_SLOW(stride));
}

/// Makes the storage of `self` hold sizes and strides, and sets them.
void ResizeTo(const at::Tensor& self, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  c10::TensorImpl* const tensor = self.unsafeGetTensorImpl();
  const auto needed = at::detail::computeStorageNbytes(
      sizes, strides, self.itemsize(), static_cast<std::size_t>(self.storage_offset()));
  const c10::Storage& storage = tensor->unsafe_storage();
  if (c10::multiply_integers(sizes) > 0 && needed > storage.nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(storage, needed);
  }
  tensor->set_sizes_and_strides(sizes, strides);
}

const at::Tensor& Resize(const at::Tensor& self, c10::SymIntArrayRef size,
                         std::optional<c10::MemoryFormat> format) {
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  if (self.sizes() != sizes) {
    at::detail::check_size_nonnegative(sizes);
    ResizeTo(self, sizes, c10::contiguous_strides(sizes));
  }
  if (format.has_value()) {
    TORCH_CHECK(*format != c10::MemoryFormat::Preserve, "resize_: unsupported memory format ",
                *format);
    self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  return self;
}

at::Tensor& SetStorageView(at::Tensor& self, c10::Storage source, c10::SymInt offset,
                           c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  const c10::IntArrayRef given = C10_AS_INTARRAYREF_SLOW(stride);
  const std::int64_t start = offset.guard_int(__FILE__, __LINE__);
  const auto contiguous = c10::contiguous_strides(sizes);
  const c10::IntArrayRef strides =
      given.empty() && !sizes.empty() ? c10::IntArrayRef(contiguous) : given;
  at::native::checkSetStorage(self, std::move(source), start, sizes, strides);
  self.unsafeGetTensorImpl()->set_storage_offset(start);
  ResizeTo(self, sizes, strides);
  return self;
}

at::Tensor& SetStorage(at::Tensor& self, c10::Storage source) {
  const auto count = static_cast<std::int64_t>(source.nbytes() / self.itemsize());
  return SetStorageView(self, std::move(source), 0, {count}, {1});
}

at::Tensor& SetTensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return SetStorageView(self, source.storage(), source.sym_storage_offset(), source.sym_sizes(),
                        source.sym_strides());
}

at::Tensor& SetEmpty(at::Tensor& self) {
  const at::Tensor empty = EmptyStrided({0}, {1}, self.scalar_type(), self.device().index());
  return SetTensor(self, empty);
}

bool IsSetTo(const at::Tensor& self, const at::Tensor& other) {
  return self.storage().unsafeGetStorageImpl() == other.storage().unsafeGetStorageImpl() &&
         self.storage_offset() == other.storage_offset() && self.sizes() == other.sizes() &&
         self.strides() == other.strides();
}

}  // namespace

void RegisterView(torch::Library& library) {
  library.impl("view", TORCH_FN(View));
  library.impl("as_strided", TORCH_FN(AsStrided));
  library.impl("_reshape_alias", TORCH_FN(ReshapeAlias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  library.impl("resize_", TORCH_FN(Resize));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(SetStorageView));
  library.impl("set_.source_Storage", TORCH_FN(SetStorage));
  library.impl("set_.source_Tensor", TORCH_FN(SetTensor));
  library.impl("set_", TORCH_FN(SetEmpty));
  library.impl("is_set_to", TORCH_FN(IsSetTo));
}

}  // namespace torch_infini
