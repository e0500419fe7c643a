// Python names of devices, memory, threads and the simulator's controls.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include "bindings.h"

namespace infini::rt::bindings {
namespace {

using namespace nb::literals;

/// Returns the result of `call`, during which other Python threads run.
template <typename Call>
auto WithoutGil(Call call) {
  const GilRelease release;
  return call();
}

void BindDevice(nb::module_& m) {
  nb::class_<Device>(m, "Device", "One device: a family and an index within it.")
      .def(
          "__init__",
          [](Device* self, const std::string& text) { new (self) Device(Device::Parse(text)); },
          "name"_a,
          "Parses \"sim\", \"nvidia:1\" or a PyTorch name such as \"cuda:0\". Raises ValueError "
          "for anything else.")
      .def_prop_ro(
          "type", [](const Device& device) { return DeviceTypeName(device.type()); },
          "Name of the family.")
      .def_prop_ro("index", &Device::index, "Index within the family.")
      .def("__str__", &Device::ToString)
      .def("__repr__", [](const Device& device) { return "Device(\"" + device.ToString() + "\")"; })
      .def("__hash__", [](const Device& device) { return std::hash<Device>()(device); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
}

void BindSelection(nb::module_& m) {
  nb::enum_<Capability> capabilities(m, "Capability",
                                     "What a backend can do beyond the required functions.");
  for (int i = 0; i < kCapabilityCount; ++i) {
    std::string name = CapabilityName(static_cast<Capability>(i));
    for (char& letter : name)
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    capabilities.value(nb::str(name.c_str()).c_str(), static_cast<Capability>(i));
  }
  m.def(
      "compiled_backends",
      [] {
        std::vector<std::string> names;
        for (const Device::Type type : runtime::CompiledBackends())
          names.emplace_back(DeviceTypeName(type));
        return names;
      },
      "Returns the names of the backends in this build.");
  m.def(
      "select_backend",
      [](const std::string& name) {
        if (name.find(':') != std::string::npos) {
          throw Error(ErrorCode::kInvalidArgument, "SelectBackend", "",
                      "\"" + name + "\" names a device; expected a backend without an index");
        }
        runtime::SelectBackend(Device::Parse(name).type());
      },
      "name"_a,
      "Selects the backend of the calling thread. Raises NotImplementedError when this build lacks "
      "it.");
  m.def(
      "selected_backend", [] { return DeviceTypeName(runtime::SelectedBackend()); },
      "Returns the name of the calling thread's backend.");
  m.def("selection_generation", &runtime::SelectionGeneration,
        "Returns a number that changes whenever the calling thread's selection changes.");
  m.def("has_capability", &runtime::HasCapability, "capability"_a,
        "Returns whether the selected backend has `capability`.");
}

void BindDeviceFunctions(nb::module_& m) {
  nb::class_<DeviceProperties>(m, "DeviceProperties", "What is known about a device.")
      .def_ro("name", &DeviceProperties::name)
      .def_ro("total_memory", &DeviceProperties::total_memory, "Bytes.")
      .def_ro("multiprocessor_count", &DeviceProperties::multiprocessor_count)
      .def_ro("capability_major", &DeviceProperties::capability_major)
      .def_ro("capability_minor", &DeviceProperties::capability_minor)
      .def("__repr__", [](const DeviceProperties& properties) {
        return "DeviceProperties(name=\"" + properties.name +
               "\", total_memory=" + std::to_string(properties.total_memory) + ")";
      });
  nb::class_<MemoryInfo>(m, "MemoryInfo", "Bytes of device memory.")
      .def_ro("free", &MemoryInfo::free)
      .def_ro("total", &MemoryInfo::total)
      .def("__repr__", [](const MemoryInfo& info) {
        return "MemoryInfo(free=" + std::to_string(info.free) +
               ", total=" + std::to_string(info.total) + ")";
      });
  m.def("device_count", &runtime::DeviceCount,
        "Returns how many devices the selected backend has.");
  m.def("get_device", &runtime::GetDevice,
        "Returns the index of the calling thread's current device.");
  m.def(
      "set_device",
      [](nb::int_ index) { runtime::SetDevice(ToInt("SetDevice", "device index", index)); },
      "index"_a, "Makes device `index` current in the calling thread.");
  m.def(
      "get_device_properties",
      [](nb::int_ index) {
        return runtime::GetDeviceProperties(ToInt("GetDeviceProperties", "device index", index));
      },
      "index"_a, "Returns the properties of a device.");
  m.def("device_synchronize", &runtime::DeviceSynchronize, ReleaseGil(),
        "Waits for all work on the current device, then raises the oldest error of a host task "
        "there, once.");
  m.def("get_memory_info", &runtime::GetMemoryInfo,
        "Returns free and total memory of the current device.");

  using Guard = ScopeManager<DeviceGuard, Device>;
  nb::class_<Guard>(m, "DeviceGuard",
                    "Context manager: selects a device's backend, makes it current, restores both.")
      .def(
          "__init__",
          [](Guard* self, const Device& device) { new (self) Guard("DeviceGuard", device); },
          "device"_a)
      .def("__enter__", &Guard::Enter)
      .def(
          "__exit__", [](Guard& self, nb::args) { self.Exit(); },
          nb::sig("def __exit__(self, *args: object) -> None"));
}

void BindMemory(nb::module_& m) {
  nb::enum_<MemcpyKind>(m, "MemcpyKind", "Direction of a copy.")
      .value("HOST_TO_HOST", MemcpyKind::kHostToHost)
      .value("HOST_TO_DEVICE", MemcpyKind::kHostToDevice)
      .value("DEVICE_TO_HOST", MemcpyKind::kDeviceToHost)
      .value("DEVICE_TO_DEVICE", MemcpyKind::kDeviceToDevice);
  m.def(
      "malloc",
      [](nb::int_ bytes) {
        const std::size_t size = ToSize("Malloc", bytes);
        return FromPointer(WithoutGil([size] { return runtime::Malloc(size); }));
      },
      "bytes"_a, "Allocates device memory and returns its address, 0 for no bytes.");
  m.def(
      "free",
      [](nb::int_ data) {
        void* const pointer = ToPointer("Free", data);
        const GilRelease release;
        runtime::Free(pointer);
      },
      "data"_a, "Frees device memory after all work of its device.");
  m.def(
      "malloc_async",
      [](nb::int_ bytes, OptionalStream stream) {
        const std::size_t size = ToSize("MallocAsync", bytes);
        return FromPointer(
            WithoutGil([=] { return runtime::MallocAsync(size, OrCurrent(stream)); }));
      },
      "bytes"_a, "stream"_a = nb::none(),
      "Allocates device memory that work on `stream` may use from now on.");
  m.def(
      "free_async",
      [](nb::int_ data, OptionalStream stream) {
        void* const pointer = ToPointer("FreeAsync", data);
        const GilRelease release;
        runtime::FreeAsync(pointer, OrCurrent(stream));
      },
      "data"_a, "stream"_a = nb::none(),
      "Frees device memory once the work queued on `stream` so far is done.");
  m.def(
      "malloc_host",
      [](nb::int_ bytes) {
        const std::size_t size = ToSize("MallocHost", bytes);
        return FromPointer(WithoutGil([size] { return runtime::MallocHost(size); }));
      },
      "bytes"_a, "Allocates host memory, pinned where the backend can.");
  m.def(
      "free_host",
      [](nb::int_ data) {
        void* const pointer = ToPointer("FreeHost", data);
        const GilRelease release;
        runtime::FreeHost(pointer);
      },
      "data"_a, "Frees memory of `malloc_host`.");
  m.def(
      "memcpy",
      [](nb::object target, nb::object source, nb::int_ bytes, MemcpyKind kind) {
        const std::size_t size = ToSize("Memcpy", bytes);
        const HostMemory to("Memcpy", "target", target, size, true);
        const HostMemory from("Memcpy", "source", source, size, false);
        const GilRelease release;
        runtime::Memcpy(to.data(), from.data(), size, kind);
      },
      "target"_a, "source"_a, "bytes"_a, "kind"_a,
      "Copies after the default stream's work and waits. Either side is an address or a contiguous "
      "buffer.");
  m.def(
      "memcpy_async",
      [](nb::int_ target, nb::int_ source, nb::int_ bytes, MemcpyKind kind, OptionalStream stream) {
        void* const to = ToPointer("MemcpyAsync", target);
        void* const from = ToPointer("MemcpyAsync", source);
        const std::size_t size = ToSize("MemcpyAsync", bytes);
        const GilRelease release;
        runtime::MemcpyAsync(to, from, size, kind, OrCurrent(stream));
      },
      "target"_a, "source"_a, "bytes"_a, "kind"_a, "stream"_a = nb::none(),
      "Queues a copy. Both sides are addresses, whose memory the caller keeps until the copy is "
      "done.");
  m.def(
      "memset",
      [](nb::int_ data, nb::int_ value, nb::int_ bytes) {
        void* const pointer = ToPointer("Memset", data);
        const std::size_t size = ToSize("Memset", bytes);
        const int byte = ToInt("Memset", "value", value);
        const GilRelease release;
        runtime::Memset(pointer, byte, size);
      },
      "data"_a, "value"_a, "bytes"_a,
      "Sets bytes of device memory to the low 8 bits of `value` and waits.");
  m.def(
      "memset_async",
      [](nb::int_ data, nb::int_ value, nb::int_ bytes, OptionalStream stream) {
        void* const pointer = ToPointer("MemsetAsync", data);
        const std::size_t size = ToSize("MemsetAsync", bytes);
        const int byte = ToInt("MemsetAsync", "value", value);
        const GilRelease release;
        runtime::MemsetAsync(pointer, byte, size, OrCurrent(stream));
      },
      "data"_a, "value"_a, "bytes"_a, "stream"_a = nb::none(), "Queues a fill.");
  m.def(
      "task_pointer",
      [](const Device& device, nb::int_ data, nb::int_ bytes) {
        return FromPointer(runtime::TaskPointer(device, ToPointer("TaskPointer", data),
                                                ToSize("TaskPointer", bytes)));
      },
      "device"_a, "data"_a, "bytes"_a,
      "Returns the address by which host tasks on `device` reach device memory.");
}

void BindThreads(nb::module_& m) {
  m.def("get_num_threads", &GetNumThreads,
        "Returns the largest number of threads that parallel loops use.");
  m.def(
      "set_num_threads",
      [](nb::int_ count) { SetNumThreads(ToInt("SetNumThreads", "count", count)); }, "count"_a,
      "Sets the largest number of threads for the whole process.");
}

void BindSim(nb::module_& m) {
  m.def("sim_set_task_delay", &sim::SetTaskDelay, "microseconds"_a,
        "Makes every task of every sim stream wait before it runs.");
  m.def(
      "sim_set_fault_plan", [](const std::string& plan) { sim::SetFaultPlan(plan); }, "plan"_a,
      "Makes calls fail: \"malloc:3\" is the third call of malloc from now on; an empty plan "
      "removes all faults.");
  m.def(
      "sim_fault_points",
      [] {
        std::vector<std::string> names;
        for (const std::string_view name : sim::FaultPoints()) names.emplace_back(name);
        return names;
      },
      "Returns the names that a fault plan may use.");
  m.def(
      "sim_call_counts",
      [] {
        std::map<std::string, std::uint64_t> counts;
        const auto names = sim::FaultPoints();
        const auto calls = sim::CallCounts();
        for (std::size_t i = 0; i < names.size(); ++i) counts.emplace(names[i], calls[i]);
        return counts;
      },
      "Returns how often each runtime function that reaches the sim backend was called.");
}

}  // namespace

void BindDevices(nb::module_& m) {
  // Streams appear in the signatures of memory functions, so the class comes first.
  nb::class_<Stream>(
      m, "Stream",
      "An ordered queue of work; `stream_create` makes one. `Stream()` names the default "
      "stream of whichever device is current when it is used.")
      .def(nb::init<>())
      .def_ro("id", &Stream::id)
      .def("__hash__", [](Stream stream) { return stream.id; })
      .def("__repr__", [](Stream stream) { return "Stream(id=" + std::to_string(stream.id) + ")"; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  BindDevice(m);
  BindSelection(m);
  BindDeviceFunctions(m);
  BindMemory(m);
  BindThreads(m);
  BindSim(m);
}

}  // namespace infini::rt::bindings
