// What is known about the type of a Python argument: which library it belongs
// to, and how its tensors are read.
#ifndef INFINI_OPS_PYTHON_LIBRARY_H_
#define INFINI_OPS_PYTHON_LIBRARY_H_

#include <nanobind/nanobind.h>

#include "python/dlpack.h"

namespace infini::ops::python {

namespace nb = nanobind;

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
  /// A torch type that overrides `__torch_dispatch__`: its elements need not be
  /// where its storage is (fake tensors, wrappers).
  bool is_torch_wrapper = false;
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

/// Lazy bits and autograd state of a torch tensor, read without its Python
/// layer where that is possible.
bool TorchIsNegative(nb::handle tensor);
bool TorchIsConjugate(nb::handle tensor);
bool TorchRequiresGrad(nb::handle tensor);

/// Why a torch tensor has no plain memory ("is a meta tensor"), or null.
const char* TorchOddity(nb::handle tensor);

/// Text of the current Python error, which is cleared.
std::string TakePythonError();

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_LIBRARY_H_
