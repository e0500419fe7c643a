// How InfiniRT's errors become Python's.
#ifndef INFINI_OPS_PYTHON_ERRORS_H_
#define INFINI_OPS_PYTHON_ERRORS_H_

#include "infini/ops/context.h"

namespace infini::ops::python {

/// Sets the Python error that `kErrorCodes` names for the code of `error`.
void RaiseError(const Error& error) noexcept;

/// Looks up the Python classes of the error table and translates `Error` in
/// functions that nanobind binds.
void RegisterErrors();

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_ERRORS_H_
