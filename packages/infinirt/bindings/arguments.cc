// Conversion of Python arguments that nanobind would refuse without saying why.
#include <unistd.h>

#include <string>

#include "bindings.h"

namespace infini::rt::bindings {
namespace {

[[noreturn]] void FailNumber(const char* function, const char* name, nb::int_ value,
                             const std::string& range) {
  PyErr_Clear();
  std::string text = "with more digits than Python prints";
  if (PyObject* const digits = PyObject_Str(value.ptr())) {
    text = nb::steal<nb::str>(digits).c_str();
  } else {
    PyErr_Clear();
  }
  throw Error(ErrorCode::kInvalidArgument, function, "",
              std::string(name) + " " + text + " is not a number " + range);
}

unsigned long long ToUnsigned(const char* function, const char* name, nb::int_ value) {
  const unsigned long long number = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) FailNumber(function, name, value, "from 0 to 2^64 - 1");
  return number;
}

/// Runs to its end, or never returns: see `GilRelease`.
struct Park {
  bool armed = true;
  ~Park() {
    while (armed) pause();
  }
};

}  // namespace

void GilRelease::Reacquire(PyThreadState* state) {
  Park park;  // its destructor also runs when Python ends this thread inside the call below
  PyEval_RestoreThread(state);
  park.armed = false;
}

std::int64_t ToInteger(const char* function, const char* name, nb::int_ value, std::int64_t low,
                       std::int64_t high) {
  const long long number = PyLong_AsLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr || number < low || number > high) {
    FailNumber(function, name, value,
               "from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

int ToInt(const char* function, const char* name, nb::int_ value) {
  return static_cast<int>(ToInteger(function, name, value, INT32_MIN, INT32_MAX));
}

std::size_t ToSize(const char* function, nb::int_ value) {
  return static_cast<std::size_t>(ToUnsigned(function, "size", value));
}

void* ToPointer(const char* function, nb::int_ value) {
  return reinterpret_cast<void*>(
      static_cast<std::uintptr_t>(ToUnsigned(function, "address", value)));
}

HostMemory::HostMemory(const char* function, const char* name, nb::handle object, std::size_t bytes,
                       bool writable) {
  if (PyLong_Check(object.ptr())) {
    data_ = ToPointer(function, nb::borrow<nb::int_>(object));
    return;
  }
  const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
    PyErr_Clear();
    throw Error(ErrorCode::kInvalidArgument, function, "",
                std::string(name) + " is a " + Py_TYPE(object.ptr())->tp_name +
                    "; expected an address or a contiguous " + (writable ? "writable " : "") +
                    "buffer");
  }
  holds_buffer_ = true;
  std::string fault;
  if (buffer_.ndim == 0 && PyIndex_Check(object.ptr())) {
    fault = std::string(" is a number of type ") + Py_TYPE(object.ptr())->tp_name +
            "; pass int(...) for an address, or a buffer";
  } else if (static_cast<std::size_t>(buffer_.len) < bytes) {
    fault = " has " + std::to_string(buffer_.len) + " bytes, but " + std::to_string(bytes) +
            " were asked for";
  }
  if (!fault.empty()) {
    PyBuffer_Release(&buffer_);
    throw Error(ErrorCode::kInvalidArgument, function, "", name + fault);
  }
  data_ = buffer_.buf;
}

HostMemory::~HostMemory() {
  if (holds_buffer_) PyBuffer_Release(&buffer_);
}

}  // namespace infini::rt::bindings
