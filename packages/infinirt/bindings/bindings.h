// What the parts of the Python module share.
#ifndef INFINI_RT_BINDINGS_BINDINGS_H_
#define INFINI_RT_BINDINGS_BINDINGS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "infini/rt.h"

namespace infini::rt::bindings {

namespace nb = nanobind;

/// Lets other Python threads run while it lives.
///
/// When the interpreter shuts down meanwhile, Python ends a thread that asks for the lock, which
/// would unwind through code that does not expect it and abort the process. Such a thread is parked
/// instead, and ends with the process.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() { Reacquire(state_); }

 private:
  static void Reacquire(PyThreadState* state);

  PyThreadState* state_;
};

/// For functions that may wait or run a task.
using ReleaseGil = nb::call_guard<GilRelease>;

/// Returns a number given from Python. Throws `Error` when it is not from `low` to `high`.
std::int64_t ToInteger(const char* function, const char* name, nb::int_ value, std::int64_t low,
                       std::int64_t high);

/// As `ToInteger` for numbers that are an int in C++; their own check follows there.
int ToInt(const char* function, const char* name, nb::int_ value);

/// A scope of the calling thread as a Python context manager. Another thread cannot leave it, and
/// when Python drops it there, that thread keeps its own state.
template <typename Scope, typename Argument>
class ScopeManager {
 public:
  ScopeManager(const char* name, Argument argument) : name_(name), argument_(argument) {}
  ScopeManager(const ScopeManager&) = delete;
  ScopeManager& operator=(const ScopeManager&) = delete;
  ~ScopeManager() {
    if (scope_ != nullptr && thread_ != std::this_thread::get_id()) {
      static_cast<void>(scope_.release());  // restoring here would change the wrong thread
    }
  }

  Argument Enter() {
    if (scope_ != nullptr) {
      throw Error(ErrorCode::kInvalidState, name_, "",
                  "the guard is already entered; make another one");
    }
    scope_ = std::make_unique<Scope>(argument_);
    thread_ = std::this_thread::get_id();
    return argument_;
  }

  void Exit() {
    if (scope_ != nullptr && thread_ != std::this_thread::get_id()) {
      throw Error(ErrorCode::kInvalidState, name_, "",
                  "the guard was entered in another thread and has to be left there");
    }
    scope_ = nullptr;
  }

 private:
  const char* name_;
  Argument argument_;
  std::unique_ptr<Scope> scope_;
  std::thread::id thread_;
};

/// Returns a size given from Python. Throws `Error` when it is negative or does not fit.
std::size_t ToSize(const char* function, nb::int_ value);

/// Returns an address given from Python; 0 is null.
void* ToPointer(const char* function, nb::int_ value);

/// A stream given from Python: none means the calling thread's current stream.
using OptionalStream = std::optional<Stream>;

inline Stream OrCurrent(const OptionalStream& stream) {
  return stream ? *stream : runtime::CurrentStream();
}

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
