// `infini.ops.Tensor`: device memory for callers without a tensor library.
#ifndef INFINI_OPS_PYTHON_TENSOR_H_
#define INFINI_OPS_PYTHON_TENSOR_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "infini/ops/context.h"
#include "infini/ops/implementation.h"

namespace infini::ops::python {

namespace nb = nanobind;

/// A contiguous tensor that owns its memory. Freeing waits for the work of its
/// device, so a queued call may outlive the Python object.
class Tensor {
 public:
  /// Allocates an uninitialised tensor. Throws `Error`.
  Tensor(const TensorSpec& spec, Device device);

  const TensorView& view() const noexcept { return view_; }

  /// Copies the elements of the contiguous host tensor `source`, which has the
  /// same shape and element type; work queued before is done first.
  void CopyFrom(const TensorView& source);

  /// Returns a copy on the CPU, after all work queued on the device.
  Tensor ToCpu() const;

  /// Returns a "dltensor_versioned" capsule that shares the memory.
  nb::object ToDlpack() const;

 private:
  std::shared_ptr<void> memory_;
  TensorView view_;
};

/// Registers the class.
void BindTensor(nb::module_& module);

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_TENSOR_H_
