// A provider that speaks TVM FFI: what a vendor's wheel would ship.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

namespace {

// The element of a tensor that comes at `index` in the order of its rows.
float* At(const tvm::ffi::TensorView& tensor, int64_t index) {
  int64_t offset = 0;
  for (int d = tensor.ndim() - 1; d >= 0; --d) {
    offset += index % tensor.size(d) * tensor.stride(d);
    index /= tensor.size(d);
  }
  char* base = static_cast<char*>(tensor.data_ptr()) + tensor.byte_offset();
  return reinterpret_cast<float*>(base) + offset;
}

void Multiply(tvm::ffi::TensorView input, tvm::ffi::TensorView other, tvm::ffi::TensorView out) {
  if (out.numel() == 3) TVM_FFI_THROW(ValueError) << "three elements are not to my taste";
  for (int64_t i = 0; i < out.numel(); ++i) *At(out, i) = *At(input, i) * *At(other, i);
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(multiply, Multiply);
