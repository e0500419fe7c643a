// PyTorch's structured kernels on infini.
//
// PyTorch's own `meta` function of an operator checks the arguments, promotes
// types, broadcasts and decides shape and strides of the result. The classes
// here give it the result tensor in the three forms of an operator:
// functional, `out=` and in-place.
#ifndef TORCH_INFINI_OPS_STRUCTURED_H_
#define TORCH_INFINI_OPS_STRUCTURED_H_

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <torch/headeronly/version.h>

#include <concepts>
#include <functional>
#include <type_traits>

#include "ops/call.h"
#include "ops/copy.h"
#include "ops/empty.h"

namespace torch_infini {

// torch 2.12 passes dimension names along; infini tensors have none.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
#define TORCH_INFINI_NAMES_PARAMETER , at::DimnameList names
#define TORCH_INFINI_NAMES_ARGUMENT , names
#else
#define TORCH_INFINI_NAMES_PARAMETER
#define TORCH_INFINI_NAMES_ARGUMENT
#endif

/// Base of the three forms: `Meta` is PyTorch's class of the operator.
template <typename Meta>
class StructuredForm : public Meta {
 public:
  void set_output_strided(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                          c10::TensorOptions options TORCH_INFINI_NAMES_PARAMETER) override {
    SetOutput(index, sizes, strides, options, /*exact_strides=*/true);
    TellIterator(index, sizes, strides, options TORCH_INFINI_NAMES_ARGUMENT);
  }

  void set_output_raw_strided(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                              c10::TensorOptions options TORCH_INFINI_NAMES_PARAMETER) override {
    SetOutput(index, sizes, strides, options, /*exact_strides=*/false);
    TellIterator(index, sizes, strides, options TORCH_INFINI_NAMES_ARGUMENT);
  }

 protected:
  virtual void SetOutput(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                         c10::TensorOptions options, bool exact_strides) = 0;

 private:
  void TellIterator(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                    c10::TensorOptions options TORCH_INFINI_NAMES_PARAMETER) {
    if constexpr (std::derived_from<Meta, at::TensorIteratorBase>) {
      Meta::set_output_raw_strided(index, sizes, strides, options TORCH_INFINI_NAMES_ARGUMENT);
    }
  }
};

/// `op(...)`: makes the result.
template <typename Meta>
class FunctionalForm final : public StructuredForm<Meta> {
 public:
  const at::Tensor& maybe_get_output(std::int64_t /*index*/) override { return result; }

  at::Tensor result;

 private:
  void SetOutput(std::int64_t /*index*/, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                 c10::TensorOptions options, bool /*exact_strides*/) override {
    const c10::ScalarType type = options.dtype().toScalarType();
    const c10::DeviceIndex device = options.device().index();
    if (strides.empty()) {
      result = EmptyStrided(sizes, c10::contiguous_strides(sizes), type, device);
    } else {
      result = EmptyStrided(sizes, strides, type, device);
    }
  }
};

/// `op(..., out=out)` and `op_(...)`: the result goes to a given tensor.
template <typename Meta>
class OutForm final : public StructuredForm<Meta> {
 public:
  OutForm(const at::Tensor& out, bool in_place) : out_(out), in_place_(in_place) {}

  const at::Tensor& maybe_get_output(std::int64_t /*index*/) override {
    return proxy_.defined() ? proxy_ : out_;
  }

  /// Where the kernel writes.
  const at::Tensor& target() const { return proxy_.defined() ? proxy_ : out_; }

  /// Moves the result to the given tensor if the kernel could not write there.
  void Finish() const {
    if (proxy_.defined()) Copy(proxy_, out_, /*non_blocking=*/false);
  }

 private:
  void SetOutput(std::int64_t /*index*/, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                 c10::TensorOptions options, bool exact_strides) override {
    TORCH_CHECK(options.dtype() == out_.dtype(),
                "Expected out tensor to have "
                "dtype ",
                options.dtype(), ", but got ", out_.dtype(), " instead");
    TORCH_CHECK(options.device() == out_.device(),
                "Expected out tensor to be "
                "on ",
                options.device(), ", but it is on ", out_.device());
    if (in_place_) {
      TORCH_CHECK(out_.sizes() == sizes, "output with shape ", out_.sizes(),
                  " doesn't match the broadcast shape ", sizes);
    } else if (at::native::resize_output(out_, sizes) && !strides.empty()) {
      out_.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    }
    if (exact_strides && !strides.empty() && out_.strides() != strides) {
      proxy_ = EmptyStrided(sizes, strides, out_.scalar_type(), out_.device().index());
    }
  }

  const at::Tensor& out_;
  const bool in_place_;
  at::Tensor proxy_;
};

/// Calls an elementwise operator, whose `meta` made `iterator`.
///
/// PyTorch's iterator says which type the operator computes in. Operands of
/// another type, and 0-dimensional operands on the CPU, are brought to it here;
/// a result of another type is computed in that type first.
class ElementwiseCall {
 public:
  ElementwiseCall(const OperatorInfo& info, at::TensorIteratorBase& iterator, const at::Tensor& out)
      : call_(out.device().index()),
        type_(iterator.common_dtype()),
        device_(out.device()),
        out_(out) {
    CheckType(info, type_, device_);
    if (out.scalar_type() != type_) [[unlikely]] {
      converted_ = EmptyStrided(out.sizes(), out.strides(), type_, device_.index());
    }
  }

  const infini::ops::Context& context() const noexcept { return call_.context(); }

  infini::rt::TensorView Input(const at::Tensor& tensor) {
    if (tensor.scalar_type() == type_ && tensor.device() == device_) [[likely]] {
      return call_.View(tensor);
    }
    at::Tensor& ready = ready_.emplace_back(tensor.device() == device_
                                                ? tensor.to(type_)
                                                : UploadScalar(tensor, type_, device_.index()));
    return call_.View(ready);
  }

  infini::rt::TensorView Output() const {
    return call_.View(converted_.defined() ? converted_ : out_);
  }

  void Finish() const {
    if (converted_.defined()) Copy(converted_, out_, /*non_blocking=*/false);
  }

 private:
  Call call_;
  c10::ScalarType type_;
  c10::Device device_;
  const at::Tensor& out_;
  at::Tensor converted_;
  c10::SmallVector<at::Tensor, 3> ready_;  // keeps converted operands alive
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_STRUCTURED_H_
