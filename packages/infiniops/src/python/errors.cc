#include "python/errors.h"

#include <nanobind/nanobind.h>

#include <array>
#include <iterator>

namespace infini::ops::python {
namespace {

namespace nb = nanobind;

/// Python classes of the error codes, by code; they live as long as the process.
std::array<PyObject*, std::size(rt::kErrorCodes)> classes{};

}  // namespace

void RaiseError(const Error& error) noexcept {
  const auto index = static_cast<std::size_t>(error.code());
  PyErr_SetString(index < classes.size() ? classes[index] : PyExc_RuntimeError, error.what());
}

void RegisterErrors() {
  const nb::module_ builtins = nb::module_::import_("builtins");
  for (const rt::ErrorCodeInfo& info : rt::kErrorCodes) {
    classes[static_cast<std::size_t>(info.code)] =
        nb::object(builtins.attr(info.python_class)).release().ptr();
  }
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      RaiseError(error);
    }
  });
}

}  // namespace infini::ops::python
