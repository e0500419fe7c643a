// The Python module `infini.ops._native`.

#include <infini/rt/abi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "infini/ops/abi.h"
#include "infini/ops/cache.h"
#include "infini/ops/implementation.h"
#include "python/arguments.h"
#include "python/errors.h"
#include "python/look.h"
#include "python/operators.h"
#include "python/tensor.h"

namespace infini::ops::python {
namespace {

namespace nb = nanobind;

/// The mapped libraries are those that this module was compiled against.
void CheckAbi() {
  const auto check = [](const char* library, int compiled, int loaded) {
    if (compiled == loaded) return;
    PyErr_Format(PyExc_ImportError,
                 "infini.ops was compiled for ABI version %d of %s, but version "
                 "%d is loaded; reinstall infiniops and infinirt together",
                 compiled, library, loaded);
    throw nb::python_error();
  };
  check("libinfinirt", INFINI_RT_ABI_VERSION, infini_rt_abi_version());
  check("libinfiniops", INFINI_OPS_ABI_VERSION, infini_ops_abi_version());
}

/// `infini.ops.use` as an object with `enter` and `exit`.
class Selection {
 public:
  Selection(std::string choices, bool fallback)
      : choices_(std::move(choices)), fallback_(fallback) {}
  void Enter() { scoped_.emplace(choices_, fallback_); }
  void Exit() { scoped_.reset(); }

 private:
  std::string choices_;
  bool fallback_;
  std::optional<ScopedSelection> scoped_;
};

void BindSelection(nb::module_& module) {
  nb::class_<Selection>(module, "Selection")
      .def(nb::init<std::string, bool>())
      .def("enter", &Selection::Enter)
      .def("exit", &Selection::Exit);
  module.def("operators", [] {
    nb::list names;
    for (const char* name : OperatorNames()) names.append(name);
    return nb::tuple(names);
  });
  module.def("active_implementations", [](const std::string& op, const std::string& device) {
    std::vector<std::pair<int, std::string>> found;
    for (const ImplementationInfo& info : ActiveImplementations(op, Device::Parse(device).type())) {
      found.emplace_back(info.slot, info.name);
    }
    return found;
  });
  module.def(
      "bind_external_device",
      [](nb::handle type) {
        if (type.is_none()) return BindExternalDevice(std::nullopt);
        BindExternalDevice(Device::Parse(nb::cast<std::string>(type)).type());
      },
      nb::arg("type").none());
}

void BindCaches(nb::module_& module) {
  module.def("cache_info", [] {
    using Row = std::tuple<std::string, std::uint64_t, std::uint64_t, std::size_t, std::size_t>;
    std::vector<Row> rows;
    for (const CacheInfo& info : GetCacheInfo()) {
      rows.emplace_back(info.name, info.hits, info.misses, info.size, info.capacity);
    }
    return rows;
  });
  module.def("clear_cache", &ClearCache);
}

}  // namespace
}  // namespace infini::ops::python

NB_MODULE(_native, module) {
  using namespace infini::ops::python;  // NOLINT(google-build-using-namespace): one scope
  CheckAbi();
  RegisterErrors();
  module.attr("version") = INFINI_OPS_VERSION;
  BindTensor(module);
  BindSelection(module);
  BindCaches(module);
  BindLook(module);
  BindOperators(module);
}
