#include "python/arguments.h"

#include <bit>
#include <cstring>
#include <utility>

#include "infini/rt/guard.h"
#include "python/library.h"
#include "python/tensor.h"

namespace infini::ops::python {
namespace {

std::optional<Device::Type> external_device;  // guarded by the GIL

std::string TypeName(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

[[noreturn]] void Refuse(const Call& call, const char* name, const std::string& what) {
  throw Error(ErrorCode::kTypeMismatch, call.op(), "", "`" + std::string(name) + "` " + what);
}

[[noreturn]] void RefuseValue(const Call& call, const char* name, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, call.op(), "", "`" + std::string(name) + "` " + what);
}

/// The device type that torch-infini gave to its device; it may have been imported before this
/// module, and then nobody has told it.
std::optional<Device::Type> DeviceOfTorchInfini() {
  const nb::object package = ImportedModule("torch_infini");
  if (package.is_none() || !nb::hasattr(package, "backend_name")) return std::nullopt;
  return Device::Parse(nb::str(package.attr("backend_name")()).c_str()).type();
}

Device ToDevice(const Call& call, const char* name, dlpack::Device device) {
  switch (device.type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost:
      return Device();
    case dlpack::kCuda: {
      static const Device::Type family = Device::Parse("cuda").type();
      return {family, device.index};
    }
    case dlpack::kExternal:
      if (!external_device) external_device = DeviceOfTorchInfini();
      if (external_device) return {*external_device, device.index};
      Refuse(call, name,
             "is on an external device, which only torch-infini makes known; "
             "import torch_infini");
    default:
      Refuse(call, name,
             "is on DLPack's device type " + std::to_string(device.type) +
                 ", which InfiniRT does not have");
  }
}

/// The element type that a buffer's format describes.
std::optional<DataType> FromFormat(const char* format, std::int64_t size) {
  std::string_view text = format == nullptr ? "B" : format;
  if (!text.empty() && (text[0] == '@' || text[0] == '=')) text.remove_prefix(1);
  if (!text.empty() && text[0] == '<' && std::endian::native == std::endian::little) {
    text.remove_prefix(1);
  }
  if (text == "?") return DataType::kBool;
  if (text == "e") return DataType::kFloat16;
  if (text == "f") return DataType::kFloat32;
  if (text == "d") return DataType::kFloat64;
  if (text == "Zf") return DataType::kComplex64;
  if (text == "Zd") return DataType::kComplex128;
  if (text.size() != 1) return std::nullopt;
  const auto pick = [size](DataType one, DataType two, DataType four,
                           DataType eight) -> std::optional<DataType> {
    switch (size) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return std::nullopt;
    }
  };
  if (std::strchr("bhilqn", text[0]) != nullptr) {
    return pick(DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64);
  }
  if (std::strchr("BHILQN", text[0]) != nullptr) {
    return pick(DataType::kUInt8, DataType::kUInt16, DataType::kUInt32, DataType::kUInt64);
  }
  return std::nullopt;
}

/// numpy's name of an element type; null where numpy has none.
const char* NumpyName(DataType dtype) {
  switch (dtype) {
    case DataType::kBFloat16:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E5M2:
      return nullptr;
    default:
      return rt::DataTypeName(dtype);
  }
}

void SetAllocationError(void* context, const char* kind, const char* message) {
  *static_cast<std::string*>(context) = std::string(kind) + ": " + message;
}

}  // namespace

void BindExternalDevice(std::optional<Device::Type> type) { external_device = type; }

void Call::RefuseConfig() const {
  throw Error(ErrorCode::kNotSupported, op_, "",
              "`config` is for Triton implementations, and this build has "
              "none; leave it out");
}

void Call::ReadChoices(Context& context) const {
  if (stream_.is_valid() && !stream_.is_none()) {
    // An InfiniRT stream is a number, or an object that carries it as `id`.
    const nb::object id =
        PyLong_Check(stream_.ptr()) ? nb::borrow(stream_) : nb::getattr(stream_, "id", nb::none());
    if (!PyLong_Check(id.ptr())) {
      Refuse(*this, "stream", "must be an InfiniRT stream or its number, got " + TypeName(stream_));
    }
    context.stream.id = PyLong_AsUnsignedLongLong(id.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      RefuseValue(*this, "stream", "is a number that no stream has");
    }
  }
  if (!implementation_.is_valid() || implementation_.is_none()) return;
  std::string wanted;
  if (PyLong_Check(implementation_.ptr()) && !PyBool_Check(implementation_.ptr())) {
    wanted = nb::cast<std::string>(nb::str(implementation_));
  } else if (PyUnicode_Check(implementation_.ptr())) {
    wanted = nb::cast<std::string>(implementation_);
  } else {
    Refuse(*this, "implementation",
           "must be a slot number or a name, got " + TypeName(implementation_));
  }
  context.implementation = FindImplementation(op_, context.device.type(), wanted);
}

void Array::Release() {
  switch (held_) {
    case Held::kBuffer:
      PyBuffer_Release(&buffer_);
      break;
    case Held::kManaged:
      if (managed_->deleter != nullptr) managed_->deleter(managed_);
      break;
    case Held::kOldManaged:
      if (old_managed_->deleter != nullptr) old_managed_->deleter(old_managed_);
      break;
    case Held::kNothing:
      break;
  }
}

void Array::Read(Call& call, const char* name, nb::handle object, bool writable) {
  type_ = &RecordOf(Py_TYPE(object.ptr()));
  switch (type_->kind) {
    case TypeRecord::Kind::kExchange:
      ReadExchange(call, name, object, writable);
      break;
    case TypeRecord::Kind::kOwn:
      view_ = nb::cast<Tensor&>(object).view();
      break;
    case TypeRecord::Kind::kBuffer:
      ReadBuffer(call, name, object, writable);
      break;
    case TypeRecord::Kind::kDlpack:
      ReadDlpack(call, name, object, writable);
      break;
    default:
      Refuse(call, name,
             "must be a tensor (DLPack or the buffer protocol), got " + TypeName(object));
  }
  call.Note(*view_);
}

void Array::ReadExchange(const Call& call, const char* name, nb::handle object, bool writable) {
  if (type_->is_torch_wrapper) {
    Refuse(call, name,
           "is a " + TypeName(object) +
               ", a torch tensor without plain storage of its own (fake "
               "tensors and wrappers); pass a plain tensor");
  }
  dlpack::Tensor tensor;
  if (type_->exchange->export_view(object.ptr(), &tensor) != 0) {
    Refuse(call, name, WhyUnreadable(object, *type_));
  }
  SetView(call, name, tensor);
  if (!type_->is_torch) return;
  // A subclass answers these itself where it has a `__torch_function__`, and may raise.
  const auto is = [&](const TorchFlag& flag) {
    try {
      return flag.Read(object);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      error.restore();
      Refuse(call, name, WhyUnreadable(object, *type_));
    }
  };
  if (is(type_->negative)) {
    Refuse(call, name, "is a lazily negated tensor; call resolve_neg() first");
  }
  if (rt::IsComplex(view_->dtype()) && is(type_->conjugate)) {
    Refuse(call, name, "is a lazily conjugated tensor; call resolve_conj() first");
  }
  if (writable && is(type_->requires_grad)) {
    RefuseValue(call, name,
                "requires grad, and no operator records gradients; pass "
                "detach() of it");
  }
}

void Array::ReadBuffer(const Call& call, const char* name, nb::handle object, bool writable) {
  if (type_->is_masked) {
    Refuse(call, name, "is a masked array, whose mask no operator reads; call filled() first");
  }
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    Refuse(call, name, "cannot be read: " + TakePythonError());
  }
  held_ = Held::kBuffer;
  const Py_buffer& buffer = buffer_;
  if (writable && buffer.readonly != 0) {
    RefuseValue(call, name, "is read-only; pass an array that can be written");
  }
  const std::optional<DataType> dtype = FromFormat(buffer.format, buffer.itemsize);
  if (!dtype) {
    Refuse(call, name,
           "has elements of format `" + std::string(buffer.format == nullptr ? "" : buffer.format) +
               "`, which no dtype stands for");
  }
  std::int64_t strides[PyBUF_MAX_NDIM];
  for (int dim = 0; dim < buffer.ndim; ++dim) {
    const std::int64_t bytes = buffer.strides[dim];
    if (bytes % buffer.itemsize != 0) {
      RefuseValue(call, name,
                  "has a stride of " + std::to_string(bytes) +
                      " bytes, no multiple of its element's " + std::to_string(buffer.itemsize) +
                      "; copy it first");
    }
    strides[dim] = bytes / buffer.itemsize;
  }
  dlpack::Tensor tensor{};
  tensor.data = buffer.buf;
  tensor.device = {dlpack::kCpu, 0};
  tensor.rank = buffer.ndim;
  const rt::DlpackDataType described = rt::ToDlpack(*dtype);
  tensor.dtype = {described.code, described.bits, described.lanes};
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  tensor.shape = reinterpret_cast<std::int64_t*>(buffer.shape);
  tensor.strides = strides;
  SetView(call, name, tensor);
}

void Array::ReadDlpack(const Call& call, const char* name, nb::handle object, bool writable) {
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) {
      error.restore();
      Refuse(call, name, "cannot be read: " + TakePythonError());
    }
    try {
      capsule = object.attr("__dlpack__")();  // a library from before 1.0
    } catch (nb::python_error& older) {
      older.restore();
      Refuse(call, name, "cannot be read: " + TakePythonError());
    }
  }
  std::uint64_t flags = 0;
  const dlpack::Tensor* tensor = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    managed_ = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    held_ = Held::kManaged;
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    if (managed_->version.major != dlpack::kMajorVersion) {
      Refuse(call, name,
             "speaks version " + std::to_string(managed_->version.major) +
                 " of DLPack; this build reads version 1");
    }
    flags = managed_->flags;
    tensor = &managed_->tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    old_managed_ =
        static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    held_ = Held::kOldManaged;
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    tensor = &old_managed_->tensor;
  } else {
    Refuse(call, name, "has a `__dlpack__` that returns no DLPack capsule");
  }
  if (writable && (flags & dlpack::kReadOnly) != 0) {
    RefuseValue(call, name, "is read-only; pass an array that can be written");
  }
  if (writable && (flags & dlpack::kCopied) != 0) {
    RefuseValue(call, name, "exports only a copy of itself, so it cannot be written");
  }
  SetView(call, name, *tensor);
}

void Array::SetView(const Call& call, const char* name, const dlpack::Tensor& tensor) {
  dlpack_device_ = tensor.device;
  const std::optional<DataType> dtype =
      rt::FromDlpack({tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes});
  if (!dtype) {
    Refuse(call, name,
           "has elements of DLPack's type (code " + std::to_string(tensor.dtype.code) + ", bits " +
               std::to_string(tensor.dtype.bits) + ", lanes " + std::to_string(tensor.dtype.lanes) +
               "), which InfiniRT does not have");
  }
  const Device device =
      tensor.device.type == dlpack::kCpu ? Device() : ToDevice(call, name, tensor.device);
  const std::span<const std::int64_t> shape(tensor.shape, static_cast<std::size_t>(tensor.rank));
  auto* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (tensor.data == nullptr) [[unlikely]] {
    bool empty = false;
    for (const std::int64_t size : shape) empty |= size == 0;
    if (!empty) {
      Refuse(call, name,
             "has elements but no data, as fake and meta tensors do; pass a "
             "real tensor");
    }
    data = nullptr;
  }
  const std::size_t alignment = rt::DataTypeSize(*dtype) / (rt::IsComplex(*dtype) ? 2 : 1);
  // A power of two: a division would cost as much as the rest of this function.
  if ((std::bit_cast<std::uintptr_t>(data) & (alignment - 1)) != 0) {
    RefuseValue(call, name,
                "lies at an address that is no multiple of its element's " +
                    std::to_string(alignment) + " bytes; copy it first");
  }
  if (tensor.strides == nullptr) {
    view_.emplace(data, shape, *dtype, device);
  } else {
    view_.emplace(data, shape, std::span<const std::int64_t>(tensor.strides, shape.size()), *dtype,
                  device);
  }
}

void Output::AllocateLike(const Array& input, const TensorSpec& spec) {
  if (given()) return;
  const TypeRecord& library = input.type();
  const char* numpy_name = NumpyName(spec.dtype);
  if (library.kind == TypeRecord::Kind::kExchange) {
    const dlpack::ExchangeApi& api = *library.exchange;
    const Device device = input.view().device();
    const rt::DlpackDataType dtype = rt::ToDlpack(spec.dtype);
    dlpack::Tensor prototype{};
    // Not by `device`, since an external device may be the CPU of InfiniRT.
    prototype.device = input.dlpack_device();
    if (prototype.device.type == dlpack::kCudaHost) prototype.device = {dlpack::kCpu, 0};
    prototype.rank = static_cast<std::int32_t>(spec.shape.size());
    prototype.dtype = {dtype.code, dtype.bits, dtype.lanes};
    prototype.shape = const_cast<std::int64_t*>(spec.shape.data());
    dlpack::ManagedTensorVersioned* managed = nullptr;
    std::string reason;
    if (api.allocate(&prototype, &managed, &reason, &SetAllocationError) != 0) {
      throw Error(ErrorCode::kOutOfMemory, call_.op(), device.ToString(),
                  "`" + std::string(name_) + "` cannot be allocated: " + reason);
    }
    // Describes the same memory as the tensor that takes it over below.
    SetView(call_, name_, managed->tensor);
    void* made = nullptr;
    if (api.import_managed(managed, &made) != 0) throw nb::python_error();
    object_ = nb::steal(static_cast<PyObject*>(made));
    call_.Note(view());
    return;
  } else if (library.is_numpy && numpy_name != nullptr) {
    nb::list shape;
    for (const std::int64_t size : spec.shape) shape.append(size);
    object_ = nb::module_::import_("numpy").attr("empty")(nb::tuple(shape),
                                                          nb::arg("dtype") = numpy_name);
  } else {
    object_ = nb::cast(Tensor(spec, input.view().device()));
  }
  Read(call_, name_, object_, true);
}

Scalar ReadScalar(const Call& call, const char* name, nb::handle object) {
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (PyLong_Check(object.ptr())) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow == 0) return static_cast<std::int64_t>(value);
    const unsigned long long large = PyLong_AsUnsignedLongLong(object.ptr());
    if (PyErr_Occurred() == nullptr) return static_cast<std::uint64_t>(large);
    PyErr_Clear();
    RefuseValue(call, name, "is an integer of more than 64 bits");
  }
  if (PyFloat_Check(object.ptr())) return PyFloat_AS_DOUBLE(object.ptr());
  if (PyComplex_Check(object.ptr())) {
    return std::complex<double>(PyComplex_RealAsDouble(object.ptr()),
                                PyComplex_ImagAsDouble(object.ptr()));
  }
  if (PyIndex_Check(object.ptr())) {  // numpy's integers
    const nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
    if (integer.is_valid()) return ReadScalar(call, name, integer);
    PyErr_Clear();
  }
  // numpy's real scalars. A tensor is no number, and a complex one has no real value.
  const PyNumberMethods* methods = Py_TYPE(object.ptr())->tp_as_number;
  if (methods != nullptr && methods->nb_float != nullptr && !nb::hasattr(object, "__dlpack__") &&
      !nb::hasattr(object, "__complex__")) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() == nullptr) return value;
    Refuse(call, name, "cannot be read: " + TakePythonError());
  }
  Refuse(call, name, "must be a number, got " + TypeName(object));
}

double ReadDouble(const Call& call, const char* name, nb::handle object) {
  if (PyFloat_Check(object.ptr())) return PyFloat_AS_DOUBLE(object.ptr());
  const Scalar scalar = ReadScalar(call, name, object);
  if (scalar.kind() == Scalar::Kind::kComplex) {
    Refuse(call, name, "must be a real number, got a complex one");
  }
  return scalar.real();
}

std::int64_t ReadInteger(const Call& call, const char* name, nb::handle object) {
  const Scalar scalar = ReadScalar(call, name, object);
  if (scalar.kind() != Scalar::Kind::kInteger) {
    Refuse(call, name, "must be an integer of at most 64 bits, got " + TypeName(object));
  }
  return scalar.integer();
}

bool ReadBool(const Call& call, const char* name, nb::handle object) {
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  Refuse(call, name, "must be True or False, got " + TypeName(object));
}

std::string ReadText(const Call& call, const char* name, nb::handle object) {
  if (PyUnicode_Check(object.ptr())) return nb::cast<std::string>(object);
  Refuse(call, name, "must be a string, got " + TypeName(object));
}

std::vector<std::int64_t> ReadIntegers(const Call& call, const char* name, nb::handle object) {
  std::vector<std::int64_t> values;
  if (!object.is_valid() || object.is_none()) return values;
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    values.push_back(ReadInteger(call, name, object));
    return values;
  }
  for (const nb::handle item : object) values.push_back(ReadInteger(call, name, item));
  return values;
}

DataType ReadDtype(const Call& call, const char* name, nb::handle object) {
  // "float32", torch.float32, numpy.dtype("float32"), numpy.float32
  std::string text;
  if (PyType_Check(object.ptr())) {
    text = nb::cast<std::string>(nb::getattr(object, "__name__"));
  } else {
    text = nb::cast<std::string>(nb::str(object));
  }
  const std::size_t dot = text.rfind('.');
  const std::string_view bare =
      std::string_view(text).substr(dot == std::string::npos ? 0 : dot + 1);
  for (int i = 0; i < rt::kDataTypeCount; ++i) {
    const auto dtype = static_cast<DataType>(i);
    if (bare == rt::DataTypeName(dtype)) return dtype;
  }
  Refuse(call, name, "must be a dtype, such as \"float32\" or torch.float32, got `" + text + "`");
}

InputList::InputList(Call& call, const char* name, nb::handle object) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    Refuse(call, name, "must be a list or tuple of tensors, got " + TypeName(object));
  }
  std::size_t index = 0;
  for (const nb::handle item : object) {
    const std::string own = std::string(name) + "[" + std::to_string(index++) + "]";
    arrays_.push_back(std::make_unique<Input>(call, own.c_str(), item));
    views_.push_back(arrays_.back()->view());
  }
  if (arrays_.empty()) RefuseValue(call, name, "is an empty list; give at least one tensor");
}

void CopyFromObject(nb::handle source, Tensor& target) {
  Call call("Tensor.copy_from", {}, {}, {});
  const Input input(call, "source", source);
  target.CopyFrom(input.view());
}

}  // namespace infini::ops::python
