// What the parts of the Python module share.
#ifndef INFINI_RT_BINDINGS_BINDINGS_H_
#define INFINI_RT_BINDINGS_BINDINGS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>

#include "infini/rt.h"

namespace infini::rt::bindings {

namespace nb = nanobind;

/// Lets other Python threads run; for calls that may wait or run a task.
using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

/// Returns a size given from Python. Throws `Error` when it is negative or does not fit.
std::size_t ToSize(const char* function, nb::int_ value);

/// Returns an address given from Python; 0 is null.
void* ToPointer(const char* function, nb::int_ value);

/// Returns an address for Python.
inline nb::int_ FromPointer(const void* data) {
  return nb::int_(static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(data)));
}

/// Memory given from Python for one synchronous call: an address, or an object with the buffer
/// protocol, whose length is checked.
class HostMemory {
 public:
  HostMemory(const char* function, const char* name, nb::handle object, std::size_t bytes,
             bool writable);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  Py_buffer buffer_{};
  bool holds_buffer_ = false;
};

void BindDevices(nb::module_& module);
void BindStreams(nb::module_& module);
void BindTensorView(nb::module_& module);

}  // namespace infini::rt::bindings

#endif  // INFINI_RT_BINDINGS_BINDINGS_H_
