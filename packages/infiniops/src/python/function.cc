#include "python/function.h"

#include <new>
#include <string>

#include "infini/ops/context.h"
#include "python/errors.h"

namespace infini::ops::python::internal {
namespace {

[[noreturn]] void Refuse(const char* op, const std::string& message) {
  throw Error(ErrorCode::kTypeMismatch, op, "", message);
}

/// Index of the parameter called `name`; `count` when there is none.
std::size_t Find(const Parameter* parameters, std::size_t count, PyObject* name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (parameters[i].interned == name) return i;  // names are mostly interned
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(parameters[i].interned, name) == 0) return i;
  }
  return count;
}

}  // namespace

void MatchArguments(const char* op, const Parameter* parameters, std::size_t count,
                    std::size_t positional, const Given& given, nb::handle* values) {
  if (given.positional > positional) {
    Refuse(op, "takes at most " + std::to_string(positional) + " positional arguments, got " +
                   std::to_string(given.positional) + "; give the others by name");
  }
  for (std::size_t i = 0; i < given.positional; ++i) {
    values[i] = given.values[i];
  }
  if (given.keywords != nullptr) {
    const Py_ssize_t keyword_count = PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t k = 0; k < keyword_count; ++k) {
      PyObject* name = PyTuple_GET_ITEM(given.keywords, k);
      const std::size_t index = Find(parameters, count, name);
      if (index == count) {
        std::string known;
        for (std::size_t i = 0; i < count; ++i) {
          known += (i == 0 ? "" : ", ") + std::string(parameters[i].name);
        }
        Refuse(op,
               "has no argument `" + nb::cast<std::string>(nb::str(name)) + "`; it takes " + known);
      }
      if (values[index].is_valid()) {
        Refuse(op, "`" + std::string(parameters[index].name) + "` is given twice");
      }
      values[index] = given.values[given.positional + static_cast<std::size_t>(k)];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i].is_valid()) continue;
    if (parameters[i].required) {
      Refuse(op, "`" + std::string(parameters[i].name) + "` is missing");
    }
  }
}

void InternNames(Parameter* parameters, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    parameters[i].interned = PyUnicode_InternFromString(parameters[i].name);
    if (parameters[i].interned == nullptr) throw nb::python_error();
  }
}

void SetPythonError() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    RaiseError(error);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace infini::ops::python::internal
