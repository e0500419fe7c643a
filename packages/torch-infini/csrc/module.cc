// The Python module `torch_infini._native`: registration, and what `torch.infini`
// needs beyond PyTorch's generic accelerator functions.
#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/library.h>

#include <set>
#include <string>
#include <vector>

#include "autograd/workers.h"
#include "ops/autocast.h"
#include "ops/composed.h"
#include "ops/copy.h"
#include "ops/empty.h"
#include "ops/factory.h"
#include "ops/fallback.h"
#include "ops/operator_table.h"
#include "ops/view.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/generator.h"
#include "runtime/guard.h"
#include "runtime/hooks.h"
#include "runtime/profiler.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace py = pybind11;
namespace rt = infini::rt;

using c10::DispatchKey;

/// PyTorch keeps registrations as long as their library lives: for ever.
torch::Library& Registrations(const char* name, DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, name, key, __FILE__, __LINE__);
}

/// Registers everything with PyTorch. Python has checked the build record and
/// the libraries before it calls this.
void RegisterBackend() {
  RequireCpuBackend();
  RegisterGuard();
  RegisterHooks();
  RegisterProfiler();
  torch::Library& operators = Registrations("aten", DispatchKey::PrivateUse1);
  RegisterEmpty(operators);
  RegisterView(operators);
  RegisterCopy(operators);
  RegisterFactory(operators);
  RegisterOperators(operators);
  const std::vector<std::string> listed = RegisteredOverloads();
  const std::set<std::string> served(listed.begin(), listed.end());
  RegisterComposed({operators, served});
  RegisterComposedMath({operators, served});
  RegisterComposedActivations({operators, served});
  RegisterComposedStatistics({operators, served});
  RegisterComposedTraining({operators, served});
  RegisterComposedOptimizers({operators, served});
  RegisterGradients(Registrations("aten", DispatchKey::AutogradPrivateUse1));
  RegisterAutocast(Registrations("aten", DispatchKey::AutocastPrivateUse1),
                   Registrations("_", DispatchKey::AutocastPrivateUse1));
  RegisterLazyCopy(Registrations("aten", DispatchKey::Conjugate));
  RegisterLazyCopy(Registrations("aten", DispatchKey::Negative));
  RegisterUnsupportedConvolution(operators);
  RegisterFallback(Registrations("_", DispatchKey::PrivateUse1));
}

void Init() { BoundThread(); }

bool IsAvailable() { return !InBadFork() && DeviceCount() > 0; }

int CountDevices() { return InBadFork() ? 0 : DeviceCount(); }

int CurrentDeviceChecked() { return BoundThread().device; }

int CheckedDeviceEntry(int device) { return CheckedDevice(device); }

int ExchangeDeviceEntry(int device) { return ExchangeDevice(CheckedDevice(device)); }

void SynchronizeEntry(int device) {
  const py::gil_scoped_release release;
  SynchronizeDevice(CheckedDevice(device));
}

void SettleWorkersEntry() {
  const py::gil_scoped_release release;
  autograd::SettleWorkers();
}

int StreamPriorityEntry(int device, std::int64_t id) {
  return StreamPriority(StreamOf(CheckedDevice(device), id));
}

std::string BackendName() { return rt::DeviceTypeName(GetBackend().type); }

bool HasCapability(const std::string& name) {
  for (int i = 0; i < rt::kCapabilityCount; ++i) {
    const auto capability = static_cast<rt::Capability>(i);
    if (name == rt::CapabilityName(capability)) {
      return GetBackend().Has(capability);
    }
  }
  throw py::value_error("InfiniRT has no capability called " + name);
}

double ElapsedTimeEntry(std::uintptr_t start, std::uintptr_t end) {
  TORCH_CHECK(start != 0 && end != 0,
              "elapsed_time: both events must be recorded before it is asked");
  return ElapsedTime(reinterpret_cast<void*>(start), reinterpret_cast<void*>(end));
}

py::dict DeviceProperties(int device) {
  BoundThread();
  const int index = CheckedDevice(device);
  const rt::DeviceProperties properties =
      WithTorchErrors([&] { return rt::runtime::GetDeviceProperties(index); });
  py::dict result;
  result["name"] = properties.name;
  result["total_memory"] = properties.total_memory;
  result["multi_processor_count"] = properties.multiprocessor_count;
  result["major"] = properties.capability_major;
  result["minor"] = properties.capability_minor;
  return result;
}

py::object DefaultGeneratorEntry(int device) {
  return py::reinterpret_steal<py::object>(
      THPGenerator_Wrap(DefaultGenerator(CheckedDevice(device))));
}

/// Makes PyTorch's exceptions leave a function as its Python classes.
template <auto kFunction>
struct Wrapped;
template <typename Result, typename... Arguments, Result (*kFunction)(Arguments...)>
struct Wrapped<kFunction> {
  static Result Run(Arguments... arguments) {
    try {
      return kFunction(arguments...);
    } catch (const c10::Error&) {
      const std::exception_ptr error = std::current_exception();
      torch::translate_exception_to_python(error);
      throw py::error_already_set();
    }
  }
};

}  // namespace

PYBIND11_MODULE(_native, module) {
  module.doc() = "Native part of torch-infini.";
  module.def("register_backend", &Wrapped<&RegisterBackend>::Run);
  module.def("registered_overloads", &RegisteredOverloads);
  module.def("unserved_overloads", &UnservedOverloads);
  module.def("fallback_counts", &FallbackCounts);
  module.def("init", &Wrapped<&Init>::Run);
  module.def("is_available", &Wrapped<&IsAvailable>::Run);
  module.def("is_initialized", &IsInitialized);
  module.def("in_bad_fork", &InBadFork);
  module.def("default_generator", &Wrapped<&DefaultGeneratorEntry>::Run);
  module.def("backend_name", &Wrapped<&BackendName>::Run);
  module.def("has_capability", &Wrapped<&HasCapability>::Run);
  module.def("device_count", &Wrapped<&CountDevices>::Run);
  module.def("current_device", &Wrapped<&CurrentDeviceChecked>::Run);
  module.def("checked_device", &Wrapped<&CheckedDeviceEntry>::Run);
  module.def("exchange_device", &Wrapped<&ExchangeDeviceEntry>::Run);
  module.def("device_properties", &Wrapped<&DeviceProperties>::Run);
  module.def("synchronize", &Wrapped<&SynchronizeEntry>::Run);
  module.def("settle_workers", &Wrapped<&SettleWorkersEntry>::Run);
  module.def("elapsed_time", &Wrapped<&ElapsedTimeEntry>::Run);
  module.def("stream_priority", &Wrapped<&StreamPriorityEntry>::Run);
}

}  // namespace torch_infini
