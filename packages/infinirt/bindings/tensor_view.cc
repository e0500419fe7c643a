// Python name of TensorView, for tests and for looking at what a caller would pass.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>

#include "bindings.h"

namespace infini::rt::bindings {

using namespace nb::literals;

void BindTensorView(nb::module_& m) {
  nb::class_<TensorView>(m, "TensorView",
                         "Address, shape, strides (elements), type and device of a tensor.")
      .def(
          "__init__",
          [](TensorView* self, nb::int_ data, const std::vector<nb::int_>& shape,
             const std::optional<std::vector<nb::int_>>& strides, const std::string& dtype,
             const Device& device) {
            void* const pointer = ToPointer("TensorView", data);
            const auto numbers = [](const char* name, const std::vector<nb::int_>& values) {
              std::vector<std::int64_t> result;
              for (const nb::int_& value : values) {
                result.push_back(ToInteger("TensorView", name, value, INT64_MIN, INT64_MAX));
              }
              return result;
            };
            const std::vector<std::int64_t> sizes = numbers("size", shape);
            if (strides) {
              new (self) TensorView(pointer, sizes, numbers("stride", *strides),
                                    ParseDataType(dtype), device);
            } else {
              new (self) TensorView(pointer, sizes, ParseDataType(dtype), device);
            }
          },
          "data"_a, "shape"_a, "strides"_a = nb::none(), "dtype"_a = "float32",
          "device"_a = Device(),
          "Contiguous when `strides` is None. Raises ValueError or TypeError when the view is not "
          "sound.")
      .def_prop_ro("data", [](const TensorView& view) { return FromPointer(view.data()); })
      .def_prop_ro("shape",
                   [](const TensorView& view) {
                     return std::vector<std::int64_t>(view.shape().begin(), view.shape().end());
                   })
      .def_prop_ro("strides",
                   [](const TensorView& view) {
                     return std::vector<std::int64_t>(view.strides().begin(), view.strides().end());
                   })
      .def_prop_ro("dtype", [](const TensorView& view) { return DataTypeName(view.dtype()); })
      .def_prop_ro("device", &TensorView::device)
      .def_prop_ro("numel", &TensorView::numel)
      .def_prop_ro("nbytes", &TensorView::nbytes)
      .def_prop_ro("is_contiguous", &TensorView::is_contiguous)
      .def_prop_ro("is_non_overlapping_and_dense", &TensorView::is_non_overlapping_and_dense)
      .def_prop_ro("may_overlap_itself", &TensorView::may_overlap_itself)
      .def("may_overlap", &TensorView::may_overlap, "other"_a)
      .def("__repr__", &TensorView::ToString)
      .def("__hash__", &TensorView::hash)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
}

}  // namespace infini::rt::bindings
