#include "python/tensor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "infini/rt/guard.h"
#include "python/arguments.h"
#include "python/dlpack.h"

namespace infini::ops::python {
namespace {

namespace runtime = rt::runtime;

[[noreturn]] void Refuse(const char* function, const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, function, "", message);
}

/// What a DLPack capsule owns.
struct Exported {
  explicit Exported(std::shared_ptr<void> owner) : memory(std::move(owner)) {}
  std::shared_ptr<void> memory;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  dlpack::ManagedTensorVersioned managed{};
};

void DeleteCapsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;  // consumed
  auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  managed->deleter(managed);
}

/// Gives memory back. It runs wherever the last owner goes, so a failure is printed, not thrown.
void FreeOn(Device device, void* data) noexcept {
  try {
    const rt::DeviceGuard guard(device);
    runtime::Free(data);
  } catch (const Error& error) {
    // In a forked child the device, and what is allocated there, is the parent's alone.
    if (error.code() == ErrorCode::kInvalidState) return;
    std::fprintf(stderr, "infini.ops: a tensor on %s was not freed: %s\n",
                 device.ToString().c_str(), error.what());
  }
}

nb::tuple ShapeOf(const Tensor& tensor) {
  nb::list sizes;
  for (const std::int64_t size : tensor.view().shape()) sizes.append(size);
  return nb::tuple(sizes);
}

}  // namespace

Tensor::Tensor(const TensorSpec& spec, Device device)
    // The description alone, to be checked before anything is allocated.
    : view_(reinterpret_cast<void*>(64), spec.shape, spec.dtype, device) {
  const auto bytes = static_cast<std::size_t>(view_.nbytes());
  void* data = nullptr;
  {
    const rt::DeviceGuard guard(device);
    data = runtime::Malloc(bytes);
  }
  memory_ = std::shared_ptr<void>(data, [device](void* owned) {
    if (owned != nullptr) FreeOn(device, owned);
  });
  view_ = TensorView(data, spec.shape, spec.dtype, device);
}

void Tensor::CopyFrom(const TensorView& source) {
  if (source.dtype() != view_.dtype() || !std::ranges::equal(source.shape(), view_.shape()) ||
      !source.is_contiguous() || source.device().type() != Device::Type::kCpu) {
    Refuse("Tensor.copy_from",
           "`source` is " + source.ToString() + "; expected a contiguous " +
               TensorView(view_.data(), view_.shape(), view_.dtype(), Device()).ToString());
  }
  const rt::DeviceGuard guard(view_.device());
  runtime::DeviceSynchronize();
  runtime::Memcpy(view_.data(), source.data(), static_cast<std::size_t>(view_.nbytes()),
                  rt::MemcpyKind::kHostToDevice);
}

Tensor Tensor::ToCpu() const {
  const auto shape = view_.shape();
  Tensor copy({{shape.begin(), shape.end()}, view_.dtype()}, Device());
  const rt::DeviceGuard guard(view_.device());
  runtime::DeviceSynchronize();
  runtime::Memcpy(copy.view_.data(), view_.data(), static_cast<std::size_t>(view_.nbytes()),
                  rt::MemcpyKind::kDeviceToHost);
  return copy;
}

nb::object Tensor::ToDlpack() const {
  if (view_.device().type() != Device::Type::kCpu) {
    PyErr_Format(PyExc_BufferError, "a tensor on %s cannot be exported; call to_cpu() first",
                 view_.device().ToString().c_str());
    throw nb::python_error();
  }
  auto owned = std::make_unique<Exported>(memory_);
  owned->shape.assign(view_.shape().begin(), view_.shape().end());
  owned->strides.assign(view_.strides().begin(), view_.strides().end());
  const rt::DlpackDataType dtype = rt::ToDlpack(view_.dtype());
  dlpack::ManagedTensorVersioned& managed = owned->managed;
  managed.version = {dlpack::kMajorVersion, 1};
  managed.context = owned.get();
  managed.deleter = [](dlpack::ManagedTensorVersioned* self) {
    delete static_cast<Exported*>(self->context);
  };
  managed.tensor.data = view_.data();
  managed.tensor.device = {dlpack::kCpu, 0};
  managed.tensor.rank = view_.rank();
  managed.tensor.dtype = {dtype.code, dtype.bits, dtype.lanes};
  managed.tensor.shape = owned->shape.data();
  managed.tensor.strides = owned->strides.data();
  PyObject* capsule = PyCapsule_New(&managed, "dltensor_versioned", &DeleteCapsule);
  if (capsule == nullptr) throw nb::python_error();
  owned.release();  // the capsule's, or its consumer's
  return nb::steal(capsule);
}

void BindTensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", "A contiguous tensor in memory of any device.")
      .def_prop_ro("shape", &ShapeOf, "Size of each dimension.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return rt::DataTypeName(self.view().dtype()); },
          "Name of the element type.")
      .def_prop_ro(
          "device", [](const Tensor& self) { return self.view().device().ToString(); },
          "Device that holds the elements, as \"sim:0\".")
      .def_prop_ro(
          "data_pointer",
          [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.view().data()); },
          "Address of the first element.")
      .def(
          "copy_from", [](Tensor& self, nb::handle source) { CopyFromObject(source, self); },
          nb::arg("source"),
          "Copy a contiguous host array of the same shape and dtype here, after "
          "all queued work of the device.")
      .def(
          "to_cpu",
          [](const Tensor& self) {
            const nb::gil_scoped_release released;
            return self.ToCpu();
          },
          "Return a copy on the CPU, after all queued work of the device. Raises "
          "what that work raised.")
      .def(
          "__dlpack__",
          [](const Tensor& self, nb::handle, nb::handle, nb::handle, nb::handle) {
            return self.ToDlpack();
          },
          nb::kw_only(), nb::arg("stream").none() = nb::none(),
          nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
          nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__",
           [](const Tensor&) { return nb::make_tuple(static_cast<int>(dlpack::kCpu), 0); })
      .def("__repr__",
           [](const Tensor& self) { return "infini.ops.Tensor(" + self.view().ToString() + ")"; });
  module.def(
      "empty",
      [](const std::vector<std::int64_t>& shape, const std::string& dtype,
         const std::string& device) {
        return Tensor({shape, rt::ParseDataType(dtype)}, Device::Parse(device));
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = "float32", nb::arg("device") = "cpu",
      "Make an uninitialised tensor. Raises ValueError for a negative size or "
      "an unknown device, TypeError for an unknown dtype, MemoryError.");
}

}  // namespace infini::ops::python
