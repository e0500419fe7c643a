#include "python/library.h"

#include <string>
#include <unordered_map>

#include "python/tensor.h"

namespace infini::ops::python {

nb::object ImportedModule(const char* name) {
  nb::dict modules = nb::borrow<nb::dict>(PyImport_GetModuleDict());
  return modules.contains(name) ? nb::object(modules[name]) : nb::none();
}

namespace {

bool IsSubclass(PyTypeObject* type, const char* module, const char* name) {
  const nb::object imported = ImportedModule(module);
  if (imported.is_none()) return false;
  const nb::object base = nb::getattr(imported, name, nb::none());
  return PyType_Check(base.ptr()) &&
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base.ptr()));
}

const dlpack::ExchangeApi* FindExchangeApi(PyTypeObject* type) {
  const nb::object capsule = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)),
                                         "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  auto* header = static_cast<dlpack::ExchangeHeader*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (header != nullptr && header->version.major != dlpack::kMajorVersion) {
    header = header->previous;
  }
  const auto* api = reinterpret_cast<const dlpack::ExchangeApi*>(header);
  return api != nullptr && api->export_view != nullptr ? api : nullptr;
}

bool OverridesTorchDispatch(PyTypeObject* type) {
  const nb::object torch = ImportedModule("torch");
  const nb::object plain = nb::getattr(torch.attr("Tensor"), "__torch_dispatch__");
  const nb::object own =
      nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)), "__torch_dispatch__", nb::none());
  return !own.is(plain);
}

/// Whether torch.func has wrapped the tensor; it has no public name for that.
bool IsTransformed(nb::handle tensor) {
  const nb::object functorch = nb::getattr(ImportedModule("torch._C"), "_functorch", nb::none());
  const nb::object test = nb::getattr(functorch, "is_functorch_wrapped_tensor", nb::none());
  return !test.is_none() && test(tensor).ptr() == Py_True;
}

/// Why a torch tensor has no plain memory, or null.
const char* TorchOddity(nb::handle tensor) {
  // First, since a lazy tensor refuses most of what it is asked.
  if (IsSubclass(Py_TYPE(tensor.ptr()), "torch.nn.parameter", "UninitializedTensorMixin")) {
    return "is an uninitialised parameter or buffer, which has no data; call its materialize(), or "
           "run its lazy module once";
  }
  if (IsTransformed(tensor)) {
    return "is a tensor inside a transformation of torch.func (vmap, grad, jvp), which has no data "
           "of its own; call the operator outside of it";
  }
  const auto is = [&](const char* name) {
    const nb::object value = nb::getattr(tensor, name, nb::none());
    return value.ptr() == Py_True;
  };
  if (is("is_meta")) return "is a meta tensor, which has no data";
  if (is("is_quantized")) return "is a quantised tensor; call dequantize() first";
  if (is("is_sparse") || is("is_sparse_csr")) {
    return "is a sparse tensor; call to_dense() first";
  }
  if (is("is_mkldnn")) return "is an MKL-DNN tensor; call to_dense() first";
  if (is("is_nested")) return "is a nested tensor, which has no single shape";
  const nb::object layout = nb::getattr(tensor, "layout", nb::none());
  if (!layout.is_none() && !layout.is(ImportedModule("torch").attr("strided"))) {
    return "is a sparse tensor; call to_dense() first";
  }
  return nullptr;
}

TypeRecord MakeRecord(PyTypeObject* type) {
  const nb::handle handle(reinterpret_cast<PyObject*>(type));
  TypeRecord record;
  record.is_torch = IsSubclass(type, "torch", "Tensor");
  record.is_numpy = IsSubclass(type, "numpy", "ndarray");
  record.is_masked = IsSubclass(type, "numpy.ma", "MaskedArray");
  if (record.is_torch) {
    record.is_torch_wrapper = OverridesTorchDispatch(type);
    record.negative = TorchFlag("is_neg");
    record.conjugate = TorchFlag("is_conj");
    record.requires_grad = TorchFlag("requires_grad");
  }
  record.exchange = FindExchangeApi(type);
  if (record.exchange != nullptr) {
    record.kind = TypeRecord::Kind::kExchange;
  } else if (nb::type_check(handle) && handle.is(nb::type<Tensor>())) {
    record.kind = TypeRecord::Kind::kOwn;
  } else if (type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr) {
    record.kind = TypeRecord::Kind::kBuffer;
  } else if (nb::hasattr(handle, "__dlpack__")) {
    record.kind = TypeRecord::Kind::kDlpack;
  }
  return record;
}

}  // namespace

TorchFlag::TorchFlag(const char* name) : name_(name) {
  const nb::object descriptor = nb::getattr(ImportedModule("torch").attr("Tensor"), name);
  if (Py_IS_TYPE(descriptor.ptr(), &PyMethodDescr_Type)) {
    const auto* method = reinterpret_cast<PyMethodDescrObject*>(descriptor.ptr())->d_method;
    if (method->ml_flags == METH_NOARGS) method_ = method->ml_meth;
  } else if (Py_IS_TYPE(descriptor.ptr(), &PyGetSetDescr_Type)) {
    const auto* getset = reinterpret_cast<PyGetSetDescrObject*>(descriptor.ptr())->d_getset;
    getter_ = getset->get;
    closure_ = getset->closure;
  }
}

PyObject* TorchFlag::LookUp(nb::handle tensor) const {
  PyObject* result = PyObject_GetAttrString(tensor.ptr(), name_);
  if (result == nullptr || !PyCallable_Check(result)) return result;
  PyObject* bound = result;
  result = PyObject_CallNoArgs(bound);
  Py_DECREF(bound);
  return result;
}

const TypeRecord& FindRecord(PyTypeObject* type) {
  // Guarded by the GIL. Types are kept alive so that an address stays theirs.
  static auto& records = *new std::unordered_map<PyTypeObject*, TypeRecord>();
  auto found = records.find(type);
  if (found == records.end()) {
    const TypeRecord record = MakeRecord(type);
    Py_INCREF(type);
    found = records.emplace(type, record).first;
  }
  last_type = {type, &found->second};
  return found->second;
}

std::string TakePythonError() {
  const nb::python_error error;
  std::string text = nb::type_name(error.type()).c_str();
  PyObject* message = PyObject_Str(error.value().ptr());
  if (message == nullptr) {
    PyErr_Clear();  // it cannot even say what went wrong
    return text;
  }
  const std::string whole = nb::steal<nb::str>(message).c_str();
  // Its first line says what went wrong; a library may add its own stack.
  const std::string first = whole.substr(0, whole.find('\n'));
  return first.empty() ? text : text + ": " + first;
}

std::string WhyUnreadable(nb::handle tensor, const TypeRecord& type) {
  const std::string reason = TakePythonError();
  const char* oddity = type.is_torch ? TorchOddity(tensor) : nullptr;
  return oddity != nullptr ? oddity : "cannot be read: " + reason;
}

}  // namespace infini::ops::python
