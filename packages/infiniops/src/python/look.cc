#include "python/look.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "python/library.h"

namespace infini::ops::python {
namespace {

/// What a tensor was when the look was made; its shape and strides lie elsewhere.
struct Facts {
  const char* data;
  std::int32_t rank;
  dlpack::DataType dtype;
  dlpack::Device device;
};

/// Reads the tensor without owning it. False for an object that is none, or has no plain memory.
bool View(nb::handle object, dlpack::Tensor& view) {
  const TypeRecord& record = RecordOf(Py_TYPE(object.ptr()));
  if (record.exchange == nullptr || record.is_torch_wrapper) return false;
  if (record.exchange->export_view(object.ptr(), &view) == 0) return true;
  PyErr_Clear();
  return false;
}

Facts FactsOf(const dlpack::Tensor& view) {
  return {static_cast<const char*>(view.data) + view.byte_offset, view.rank, view.dtype,
          view.device};
}

bool AreSame(const Facts& a, const Facts& b) {
  return a.data == b.data && a.rank == b.rank && a.dtype.code == b.dtype.code &&
         a.dtype.bits == b.dtype.bits && a.dtype.lanes == b.dtype.lanes &&
         a.device.type == b.device.type && a.device.index == b.device.index;
}

/// Objects under names of tables, and tensors, as they were when it was made. A model of a few
/// hundred weights is looked at before every replay of a step, after the step's weights have
/// pushed all of this out of the caches: one pass that touches little is what counts.
class Look {
 public:
  using Place = std::tuple<nb::dict, nb::str, nb::object>;

  Look(std::vector<Place> places, std::vector<nb::object> tensors)
      : places_(std::move(places)), tensors_(std::move(tensors)) {
    for (const nb::object& tensor : tensors_) {
      dlpack::Tensor view;
      if (!View(tensor, view) || (view.rank > 0 && view.strides == nullptr)) {
        throw nb::type_error("Look: expected tensors that DLPack's C exchange API reads");
      }
      facts_.push_back(FactsOf(view));
      sizes_.insert(sizes_.end(), view.shape, view.shape + view.rank);
      sizes_.insert(sizes_.end(), view.strides, view.strides + view.rank);
    }
  }

  bool Holds() const {
    for (const auto& [table, name, object] : places_) {
      PyObject* found = PyDict_GetItemWithError(table.ptr(), name.ptr());
      if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      if (found != object.ptr()) return false;
    }
    const std::int64_t* sizes = sizes_.data();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      dlpack::Tensor view;
      if (!View(tensors_[i], view) || !AreSame(FactsOf(view), facts_[i])) return false;
      const std::int32_t rank = view.rank;
      if (!std::equal(sizes, sizes + rank, view.shape)) return false;
      sizes += rank;
      if (!std::equal(sizes, sizes + rank, view.strides)) return false;
      sizes += rank;
    }
    return true;
  }

  /// What the garbage collector follows and breaks: a model may hold what looks at it.
  int Traverse(visitproc visit, void* arg) const {
    for (const auto& [table, name, object] : places_) {
      Py_VISIT(table.ptr());
      Py_VISIT(object.ptr());
    }
    for (const nb::object& tensor : tensors_) Py_VISIT(tensor.ptr());
    return 0;
  }

  void Clear() {
    places_.clear();
    tensors_.clear();
  }

 private:
  std::vector<Place> places_;
  std::vector<nb::object> tensors_;
  std::vector<Facts> facts_;
  std::vector<std::int64_t> sizes_;  // shape and strides, tensor after tensor
};

int TraverseLook(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Look>(self)->Traverse(visit, arg) : 0;
}

int ClearLook(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Look>(self)->Clear();
  return 0;
}

PyType_Slot look_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&TraverseLook)},
                            {Py_tp_clear, reinterpret_cast<void*>(&ClearLook)},
                            {0, nullptr}};

}  // namespace

void BindLook(nb::module_& module) {
  nb::class_<Look>(module, "Look", nb::type_slots(look_slots))
      .def(nb::init<std::vector<Look::Place>, std::vector<nb::object>>(), nb::arg("places"),
           nb::arg("tensors"))
      .def("holds", &Look::Holds);
}

}  // namespace infini::ops::python
