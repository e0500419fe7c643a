// Conversion of Python arguments that nanobind would refuse without saying why.
#include <string>

#include "bindings.h"

namespace infini::rt::bindings {
namespace {

/// Returns `value` as an unsigned number, or throws with `expected`.
unsigned long long ToUnsigned(const char* function, nb::int_ value, const char* what) {
  const unsigned long long number = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw Error(
        ErrorCode::kInvalidArgument, function, "",
        std::string(what) + " " + nb::str(value).c_str() + " is not a number from 0 to 2^64 - 1");
  }
  return number;
}

}  // namespace

std::size_t ToSize(const char* function, nb::int_ value) {
  return static_cast<std::size_t>(ToUnsigned(function, value, "size"));
}

void* ToPointer(const char* function, nb::int_ value) {
  return reinterpret_cast<void*>(
      static_cast<std::uintptr_t>(ToUnsigned(function, value, "address")));
}

HostMemory::HostMemory(const char* function, const char* name, nb::handle object, std::size_t bytes,
                       bool writable) {
  if (PyLong_Check(object.ptr())) {
    data_ = ToPointer(function, nb::borrow<nb::int_>(object));
    return;
  }
  if (PyObject_GetBuffer(object.ptr(), &buffer_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    throw Error(ErrorCode::kInvalidArgument, function, "",
                std::string(name) + " is a " + Py_TYPE(object.ptr())->tp_name +
                    "; expected an address or a contiguous " + (writable ? "writable " : "") +
                    "buffer");
  }
  holds_buffer_ = true;
  if (static_cast<std::size_t>(buffer_.len) < bytes) {
    const std::string length = std::to_string(buffer_.len);
    PyBuffer_Release(&buffer_);
    throw Error(ErrorCode::kInvalidArgument, function, "",
                std::string(name) + " has " + length + " bytes, but " + std::to_string(bytes) +
                    " were asked for");
  }
  data_ = buffer_.buf;
}

HostMemory::~HostMemory() {
  if (holds_buffer_) PyBuffer_Release(&buffer_);
}

}  // namespace infini::rt::bindings
