// The Python functions of operators.
//
// They are plain C functions with CPython's fast calling convention: nanobind's
// dispatch costs a third of what a call of a small operator may take.
#ifndef INFINI_OPS_PYTHON_FUNCTION_H_
#define INFINI_OPS_PYTHON_FUNCTION_H_

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>

namespace infini::ops::python {

namespace nb = nanobind;

/// The arguments of a call as CPython passes them.
struct Given {
  PyObject* const* values;
  std::size_t positional;
  PyObject* keywords;  // tuple of names, or null
};

/// One parameter of a function.
struct Parameter {
  const char* name;
  bool required;
  PyObject* interned = nullptr;
};

namespace internal {

/// Puts `given` in the order of `parameters`; what is not given stays invalid.
/// Throws `Error` (type mismatch) for a call that does not fit.
void MatchArguments(const char* op, const Parameter* parameters, std::size_t count,
                    std::size_t positional, const Given& given, nb::handle* values);

/// Interns the parameters' names.
void InternNames(Parameter* parameters, std::size_t count);

/// Sets the Python error of the C++ exception that is being handled.
void SetPythonError() noexcept;

}  // namespace internal

/// The parameters of one operator; the first `positional` ones may be given by
/// position.
template <std::size_t kCount>
class Signature {
 public:
  Signature(const char* op, std::size_t positional, const Parameter (&parameters)[kCount])
      : op_(op), positional_(positional) {
    for (std::size_t i = 0; i < kCount; ++i) parameters_[i] = parameters[i];
    internal::InternNames(parameters_, kCount);
  }

  void Match(const Given& given, nb::handle (&values)[kCount]) const {
    internal::MatchArguments(op_, parameters_, kCount, positional_, given, values);
  }

 private:
  const char* op_;
  std::size_t positional_;
  Parameter parameters_[kCount];
};

/// Wraps `kFunction(kExplain, given)` as a C function that raises Python errors.
template <nb::object (*kFunction)(bool, const Given&), bool kExplain>
PyCFunction Method() {
  using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
  const Fast function = [](PyObject*, PyObject* const* values, Py_ssize_t count,
                           PyObject* keywords) -> PyObject* {
    try {
      return kFunction(kExplain, {values, static_cast<std::size_t>(count), keywords})
          .release()
          .ptr();
    } catch (...) {
      internal::SetPythonError();
      return nullptr;
    }
  };
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_FUNCTION_H_
