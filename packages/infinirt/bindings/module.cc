// The Python module infini.rt._rt: errors, ABI check, and the order of its parts.
#include <string>
#include <string_view>

#include "bindings.h"

namespace infini::rt::bindings {
namespace {

/// Returns the built-in exception that the error table names.
PyObject* PythonClass(ErrorCode code) {
  const std::string_view name = GetErrorCodeInfo(code).python_class;
  if (name == "ValueError") return PyExc_ValueError;
  if (name == "TypeError") return PyExc_TypeError;
  if (name == "MemoryError") return PyExc_MemoryError;
  if (name == "NotImplementedError") return PyExc_NotImplementedError;
  return PyExc_RuntimeError;
}

}  // namespace
}  // namespace infini::rt::bindings

NB_MODULE(_rt, module) {
  namespace rt = infini::rt;
  if (infini_rt_abi_version() != INFINI_RT_ABI_VERSION) {
    const std::string message = "infini.rt was built for ABI version " +
                                std::to_string(INFINI_RT_ABI_VERSION) +
                                " of libinfinirt.so, but the library that is loaded has version " +
                                std::to_string(infini_rt_abi_version()) + "; reinstall infinirt";
    PyErr_SetString(PyExc_ImportError, message.c_str());
    throw nanobind::python_error();
  }
  // A thread that is parked while the interpreter shuts down keeps its arguments.
  nanobind::set_leak_warnings(false);
  nanobind::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const rt::Error& error) {
      PyErr_SetString(rt::bindings::PythonClass(error.code()), error.what());
    }
  });
  module.doc() = "Compiled part of infini.rt.";
  module.def("abi_version", &infini_rt_abi_version,
             "Returns the ABI version of the loaded libinfinirt.so.");
  rt::bindings::BindDevices(module);
  rt::bindings::BindStreams(module);
  rt::bindings::BindTensorView(module);
}
