// PyTorch's structured kernels on infini.
//
// PyTorch's own `meta` function of an operator checks the arguments, promotes
// types, broadcasts and decides shape and strides of the result. The classes
// here give it the result tensors in the three forms of an operator:
// functional, `out=` and in-place.
#ifndef TORCH_INFINI_OPS_STRUCTURED_H_
#define TORCH_INFINI_OPS_STRUCTURED_H_

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <torch/headeronly/version.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>

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

/// Optional arguments in the form that PyTorch's classes take.
inline at::OptionalScalarRef MetaArgument(const std::optional<at::Scalar>& number) {
  return number.has_value() ? at::OptionalScalarRef(*number) : at::OptionalScalarRef();
}

inline at::OptionalTensorRef MetaArgument(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? at::OptionalTensorRef(*tensor) : at::OptionalTensorRef();
}

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

/// `op(...)`: makes the results.
template <typename Meta, std::size_t kCount = 1>
class FunctionalForm final : public StructuredForm<Meta> {
 public:
  const at::Tensor& maybe_get_output(std::int64_t index) override { return Result(index); }

  at::Tensor& Result(std::int64_t index) { return results_[static_cast<std::size_t>(index)]; }

 private:
  void SetOutput(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                 c10::TensorOptions options, bool /*exact_strides*/) override {
    const c10::ScalarType type = options.dtype().toScalarType();
    const c10::DeviceIndex device = options.device().index();
    if (strides.empty()) {
      Result(index) = EmptyStrided(sizes, c10::contiguous_strides(sizes), type, device);
    } else {
      Result(index) = EmptyStrided(sizes, strides, type, device);
    }
  }

  std::array<at::Tensor, kCount> results_;
};

/// `op(..., out=out)` and `op_(...)`: the results go to given tensors.
template <typename Meta, std::size_t kCount = 1>
class OutForm final : public StructuredForm<Meta> {
 public:
  template <typename... Tensors>
  explicit OutForm(bool in_place, const Tensors&... outs) : outs_{&outs...}, in_place_(in_place) {
    static_assert(sizeof...(Tensors) == kCount);
  }

  /// Has PyTorch's class refuse, before it resizes a result, what `info` has no kernel for. For
  /// those that promote types: others are known before.
  void CheckTypes(const OperatorInfo& info) { info_ = &info; }

  const at::Tensor& maybe_get_output(std::int64_t index) override { return Result(index); }

  /// Where the kernel writes.
  const at::Tensor& Result(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return proxies_[i].defined() ? proxies_[i] : *outs_[i];
  }

  /// Moves results to the given tensors where the kernel could not write there.
  void Finish() const {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (proxies_[i].defined()) Copy(proxies_[i], *outs_[i], /*non_blocking=*/false);
    }
  }

 private:
  void SetOutput(std::int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                 c10::TensorOptions options, bool exact_strides) override {
    const at::Tensor& out = *outs_[static_cast<std::size_t>(index)];
    TORCH_CHECK(options.dtype() == out.dtype(),
                "Expected out tensor to have "
                "dtype ",
                options.dtype(), ", but got ", out.dtype(), " instead");
    TORCH_CHECK(options.device() == out.device(),
                "Expected out tensor to be "
                "on ",
                options.device(), ", but it is on ", out.device());
    if constexpr (std::derived_from<Meta, at::TensorIteratorBase>) {
      if (info_ != nullptr) CheckType(*info_, this->common_dtype(), out.device());
    }
    if (in_place_) {
      TORCH_CHECK(out.sizes() == sizes, "output with shape ", out.sizes(),
                  " doesn't match the broadcast shape ", sizes);
    } else if (at::native::resize_output(out, sizes) && !strides.empty()) {
      out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    }
    if (exact_strides && !strides.empty() && out.strides() != strides) {
      proxies_[static_cast<std::size_t>(index)] =
          EmptyStrided(sizes, strides, out.scalar_type(), out.device().index());
    }
  }

  std::array<const at::Tensor*, kCount> outs_;
  const bool in_place_;
  const OperatorInfo* info_ = nullptr;
  std::array<at::Tensor, kCount> proxies_;
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_STRUCTURED_H_
