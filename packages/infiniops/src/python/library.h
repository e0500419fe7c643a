// What is known about the type of a Python argument: which library it belongs
// to, and how its tensors are read.
#ifndef INFINI_OPS_PYTHON_LIBRARY_H_
#define INFINI_OPS_PYTHON_LIBRARY_H_

#include <nanobind/nanobind.h>

#include "python/dlpack.h"

namespace infini::ops::python {

namespace nb = nanobind;

/// The module `name` if the process has imported it, else None; nothing is imported here.
nb::object ImportedModule(const char* name);

/// A method without arguments or an attribute of torch.Tensor that says yes or no, resolved once
/// to the C function behind it, which a call then reaches without a look-up.
class TorchFlag {
 public:
  TorchFlag() = default;
  /// Resolves `name`; torch is imported.
  explicit TorchFlag(const char* name);

  bool Read(nb::handle tensor) const {
    PyObject* result = method_ != nullptr   ? method_(tensor.ptr(), nullptr)
                       : getter_ != nullptr ? getter_(tensor.ptr(), closure_)
                                            : LookUp(tensor);
    if (result == nullptr) throw nb::python_error();
    const bool value = result == Py_True;
    Py_DECREF(result);
    return value;
  }

 private:
  PyObject* LookUp(nb::handle tensor) const;

  const char* name_ = nullptr;
  PyCFunction method_ = nullptr;
  getter getter_ = nullptr;
  void* closure_ = nullptr;
};

/// How objects of one Python type are read. Records live as long as the
/// process, and so do the types.
struct TypeRecord {
  enum class Kind {
    kNone,      // no tensor
    kExchange,  // DLPack's C exchange API
    kOwn,       // infini.ops.Tensor
    kBuffer,    // the buffer protocol
    kDlpack,    // __dlpack__
  };
  Kind kind = Kind::kNone;
  const dlpack::ExchangeApi* exchange = nullptr;
  bool is_torch = false;
  bool is_numpy = false;
  /// A numpy array some of whose elements do not count, which its buffer does not tell.
  bool is_masked = false;
  /// A torch type that overrides `__torch_dispatch__`: its elements need not be
  /// where its storage is (fake tensors, wrappers).
  bool is_torch_wrapper = false;
  /// Lazy bits and autograd state of a torch tensor. Its C functions take a third of a small call:
  /// `is_neg` releases the GIL for nothing, but nothing else tells that bit.
  TorchFlag negative;
  TorchFlag conjugate;
  TorchFlag requires_grad;
};

/// The type that was read last, and its record; guarded by the GIL.
struct LastType {
  PyTypeObject* type = nullptr;
  const TypeRecord* record = nullptr;
};
inline LastType last_type;

/// Returns the record of `type` from the table of all types, and remembers it as the last.
const TypeRecord& FindRecord(PyTypeObject* type);

/// Returns the record of `type`.
inline const TypeRecord& RecordOf(PyTypeObject* type) {
  return type == last_type.type ? *last_type.record : FindRecord(type);
}

/// Text of the current Python error, which is cleared.
std::string TakePythonError();

/// What to say of a tensor that raised the current Python error, which is cleared: what is odd
/// about a torch tensor, and what to do ("is a sparse tensor; call to_dense() first"), else the
/// error.
std::string WhyUnreadable(nb::handle tensor, const TypeRecord& type);

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_LIBRARY_H_
