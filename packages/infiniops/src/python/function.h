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
    for (std::size_t i = 0; i < kCount; ++i) {
      parameters_[i] = parameters[i];
      if (parameters[i].required) required_ = i + 1;
    }
    internal::InternNames(parameters_, kCount);
  }

  /// Puts `given` in order; see `MatchArguments`.
  void Match(const Given& given, nb::handle (&values)[kCount]) const {
    if (!MatchUsual(given, values)) {
      for (nb::handle& value : values) value = {};
      internal::MatchArguments(op_, parameters_, kCount, positional_, given, values);
    }
  }

 private:
  /// Matches a call whose required arguments are given by position and whose names are interned,
  /// as those of a call in Python source are. Returns false for any other, right or wrong.
  bool MatchUsual(const Given& given, nb::handle (&values)[kCount]) const {
    if (given.positional > positional_ || given.positional < required_) return false;
    for (std::size_t i = 0; i < given.positional; ++i) values[i] = given.values[i];
    if (given.keywords == nullptr) return true;
    const auto keyword_count = static_cast<std::size_t>(PyTuple_GET_SIZE(given.keywords));
    for (std::size_t k = 0; k < keyword_count; ++k) {
      PyObject* name = PyTuple_GET_ITEM(given.keywords, static_cast<Py_ssize_t>(k));
      std::size_t index = given.positional;
      while (index < kCount && parameters_[index].interned != name) ++index;
      if (index == kCount || values[index].is_valid()) return false;
      values[index] = given.values[given.positional + k];
    }
    return true;
  }

  const char* op_;
  std::size_t positional_;
  std::size_t required_ = 0;  // the required parameters are among the first ones, as many as this
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
