// The generated bindings of all operators.
#ifndef INFINI_OPS_PYTHON_OPERATORS_H_
#define INFINI_OPS_PYTHON_OPERATORS_H_

#include <nanobind/nanobind.h>

namespace infini::ops::python {

/// Registers a function for each operator of this build.
void BindOperators(nanobind::module_& module);

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_OPERATORS_H_
