// Copies to, from and between infini tensors.
#ifndef TORCH_INFINI_OPS_COPY_H_
#define TORCH_INFINI_OPS_COPY_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <torch/library.h>

namespace torch_infini {

/// Copies `source` into `target`; at least one of them is on infini.
///
/// `source` broadcasts, and is converted to the element type of `target`.
/// Copies of one layout and type go straight through the runtime; between infini
/// and pinned memory they return before they are done if `non_blocking` and the
/// backend can. Everything else is arranged in host memory and is done on
/// return. No byte beside the elements of `target` is written.
void Copy(const at::Tensor& source, const at::Tensor& target, bool non_blocking);

/// A CPU tensor with the elements, sizes and strides of an infini tensor.
/// Waits for the work queued on the current stream.
at::Tensor ToHost(const at::Tensor& tensor);

/// Whether the host may read and write the elements of infini tensors as soon as
/// the call that made them has returned: on the cpu backend.
bool HostSeesElements();

/// A new 0-dimensional infini tensor with `number`, converted to `type` as a copy
/// converts. Does not wait for the device.
at::Tensor UploadNumber(const at::Scalar& number, c10::ScalarType type, c10::DeviceIndex device);

/// The same with the value of a CPU tensor of one element.
at::Tensor UploadNumber(const at::Tensor& number, c10::ScalarType type, c10::DeviceIndex device);

/// Registers the operators that copy, fill and read.
void RegisterCopy(torch::Library& library);

/// Makes lazily conjugated or negated tensors reach `Copy` as they are, which
/// resolves them. Called with the libraries of the keys Conjugate and Negative:
/// PyTorch would resolve them by a clone, which is a copy again, without end.
void RegisterLazyCopy(torch::Library& library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_COPY_H_
