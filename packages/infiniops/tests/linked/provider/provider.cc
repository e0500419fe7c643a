// A provider that speaks TVM FFI: what a vendor's wheel would ship.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

namespace {

void Multiply(tvm::ffi::TensorView input, tvm::ffi::TensorView other, tvm::ffi::TensorView out) {
  if (out.numel() == 3) TVM_FFI_THROW(ValueError) << "three elements are not to my taste";
  const auto* a = static_cast<const float*>(input.data_ptr());
  const auto* b = static_cast<const float*>(other.data_ptr());
  auto* c = static_cast<float*>(out.data_ptr());
  for (int64_t i = 0; i < out.numel(); ++i) c[i] = a[i] * b[i];
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(multiply, Multiply);
