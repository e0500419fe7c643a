// A look at many tensors of a caller: whether they are where and as they were.
#ifndef INFINI_OPS_PYTHON_LOOK_H_
#define INFINI_OPS_PYTHON_LOOK_H_

#include <nanobind/nanobind.h>

namespace infini::ops::python {

namespace nb = nanobind;

/// Adds the class `Look` to the module.
void BindLook(nb::module_& module);

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_LOOK_H_
