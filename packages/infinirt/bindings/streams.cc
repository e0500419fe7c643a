// Python names of streams, events, host tasks and graphs.
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>

#include "bindings.h"

namespace infini::rt::bindings {
namespace {

using namespace nb::literals;

template <typename Handle>
void BindHandle(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Handle>(m, name, doc)
      .def_ro("id", &Handle::id)
      .def("__hash__", [](Handle handle) { return handle.id; })
      .def("__repr__",
           [name = std::string(name)](Handle handle) {
             return name + "(id=" + std::to_string(handle.id) + ")";
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
}

void BindStreamFunctions(nb::module_& m) {
  m.def(
      "get_stream_priority_range",
      [] {
        const StreamPriorityRange range = runtime::GetStreamPriorityRange();
        return std::pair(range.least, range.greatest);
      },
      "Returns the least and the greatest priority; lower numbers come first.");
  m.def(
      "stream_create",
      [](nb::int_ priority) {
        const int number = ToInt("StreamCreate", "priority", priority);
        const GilRelease release;
        return runtime::StreamCreate(number);
      },
      "priority"_a = 0, "Creates a stream on the current device.");
  m.def("stream_destroy", &runtime::StreamDestroy, "stream"_a, ReleaseGil(),
        "Destroys a stream; its queued work is done first.");
  m.def(
      "stream_query", [](OptionalStream stream) { return runtime::StreamQuery(OrCurrent(stream)); },
      "stream"_a = nb::none(), ReleaseGil(),
      "Returns whether all work queued on the stream is done.");
  m.def(
      "stream_synchronize",
      [](OptionalStream stream) { runtime::StreamSynchronize(OrCurrent(stream)); },
      "stream"_a = nb::none(), ReleaseGil(),
      "Waits for the stream, then raises the oldest error of a host task there, once.");
  m.def("stream_wait_event", &runtime::StreamWaitEvent, "stream"_a, "event"_a, ReleaseGil(),
        "Makes later work on the stream wait for the last record of the event.");
  m.def("default_stream", &runtime::DefaultStream,
        "Returns the default stream of the current device.");
  m.def("current_stream", &runtime::CurrentStream, "Returns the calling thread's current stream.");
  m.def("set_current_stream", &runtime::SetCurrentStream, "stream"_a,
        "Makes the stream the calling thread's current one on the stream's device.");
  m.def("stream_device", &runtime::StreamDevice, "stream"_a, "Returns the device of the stream.");
  m.def(
      "stream_native_handle",
      [](OptionalStream stream) {
        return FromPointer(runtime::StreamNativeHandle(OrCurrent(stream)));
      },
      "stream"_a = nb::none(), "Returns the backend's own handle, 0 where it has none.");
  m.def(
      "stream_from_native_handle",
      [](nb::int_ native) {
        return runtime::StreamFromNativeHandle(ToPointer("StreamFromNativeHandle", native));
      },
      "native"_a, "Wraps a stream that somebody else owns.");

  using Guard = ScopeManager<StreamGuard, Stream>;
  nb::class_<Guard>(m, "StreamGuard",
                    "Context manager: makes a stream and its device current, restores both.")
      .def(
          "__init__", [](Guard* self, Stream stream) { new (self) Guard("StreamGuard", stream); },
          "stream"_a)
      .def("__enter__", &Guard::Enter)
      .def(
          "__exit__", [](Guard& self, nb::args) { self.Exit(); },
          nb::sig("def __exit__(self, *args: object) -> None"));
}

void BindEvents(nb::module_& m) {
  BindHandle<Event>(m, "Event", "A point in the work of a stream.");
  m.def(
      "event_create",
      [](bool timing, bool blocking, bool interprocess) {
        return runtime::EventCreate(
            {.timing = timing, .blocking = blocking, .interprocess = interprocess});
      },
      nb::kw_only(), "timing"_a = true, "blocking"_a = false, "interprocess"_a = false,
      "Creates an event on the current device. Raises NotImplementedError for an option the "
      "backend lacks.");
  m.def("event_destroy", &runtime::EventDestroy, "event"_a, ReleaseGil(),
        "Destroys an event; queued waits on it stay in force.");
  m.def(
      "event_record",
      [](Event event, OptionalStream stream) { runtime::EventRecord(event, OrCurrent(stream)); },
      "event"_a, "stream"_a = nb::none(), ReleaseGil(),
      "Marks the work queued on the stream so far.");
  m.def("event_query", &runtime::EventQuery, "event"_a, ReleaseGil(),
        "Returns whether the work of the last record is done.");
  m.def("event_synchronize", &runtime::EventSynchronize, "event"_a, ReleaseGil(),
        "Waits until the work of the last record is done.");
  m.def("event_elapsed_time", &runtime::EventElapsedTime, "start"_a, "end"_a, ReleaseGil(),
        "Returns the milliseconds from `start` to `end`.");
}

/// The devices where Python queued host tasks or graphs, which may call back into it, and the
/// process that did; a forked child has none of them.
struct QueuedHostTasks {
  std::vector<Device> devices;
  pid_t process = getpid();
};

/// Guarded by the interpreter's lock. Never destroyed: it is read while the process ends.
QueuedHostTasks& HostTasksFromPython() {
  static auto& queued = *new QueuedHostTasks;
  return queued;
}

void KeepDeviceOf(Stream stream) {
  QueuedHostTasks& queued = HostTasksFromPython();
  if (queued.process != getpid()) queued = {};
  const Device device = runtime::StreamDevice(stream);
  if (std::ranges::find(queued.devices, device) == queued.devices.end())
    queued.devices.push_back(device);
}

/// Waits for queued host tasks while Python still runs: a callback of ctypes that is called later
/// meets an interpreter that is gone. Reports the errors of tasks that nobody waited for.
void FinishHostTasks() {
  if (HostTasksFromPython().process != getpid()) return;
  for (const Device device : std::vector<Device>(HostTasksFromPython().devices)) {
    try {
      const GilRelease release;
      const DeviceGuard guard(device);
      runtime::DeviceSynchronize();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      const std::string where = "host tasks of the device " + device.ToString();
      PyErr_WriteUnraisable(nb::str(where.c_str()).ptr());
    }
  }
}

void BindGraphs(nb::module_& m) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&FinishHostTasks));
  BindHandle<Graph>(m, "Graph", "Recorded work that can be instantiated.");
  BindHandle<GraphExec>(m, "GraphExec", "A graph that is ready to launch.");
  m.def(
      "launch_host",
      [](Stream stream, nb::int_ function, nb::bytes arguments) {
        const auto address = reinterpret_cast<HostFunction>(ToPointer("LaunchHost", function));
        {
          const GilRelease release;
          runtime::LaunchHost(stream, address, arguments.data(), arguments.size());
        }
        KeepDeviceOf(stream);
      },
      "stream"_a, "function"_a, "arguments"_a = nb::bytes("", 0),
      "Queues the C function `void (const void*)` at address `function` with a copy of "
      "`arguments`. The interpreter waits for it before it shuts down.");
  m.def("stream_begin_capture", &runtime::StreamBeginCapture, "stream"_a, ReleaseGil(),
        "Starts to record what the calling thread queues on the stream.");
  m.def(
      "stream_end_capture", &runtime::StreamEndCapture, "stream"_a,
      "Ends the capture and returns what was recorded. Raises RuntimeError when a call spoilt it.");
  m.def("stream_is_capturing", &runtime::StreamIsCapturing, "stream"_a,
        "Returns whether the stream is being captured.");
  m.def("graph_instantiate", &runtime::GraphInstantiate, "graph"_a, ReleaseGil(),
        "Makes a graph ready to launch.");
  m.def(
      "graph_launch",
      [](GraphExec graph, OptionalStream stream) {
        const Stream on = OrCurrent(stream);
        {
          const GilRelease release;
          runtime::GraphLaunch(graph, on);
        }
        KeepDeviceOf(on);
      },
      "graph"_a, "stream"_a = nb::none(), "Queues all recorded work on the stream.");
  m.def("graph_task_count", &runtime::GraphTaskCount, "graph"_a,
        "Returns how many operations the graph holds.");
  m.def("graph_destroy", &runtime::GraphDestroy, "graph"_a, ReleaseGil(), "Destroys a graph.");
  m.def("graph_exec_destroy", &runtime::GraphExecDestroy, "graph"_a, ReleaseGil(),
        "Destroys an executable graph.");
}

/// Host tasks for tests, by name.
HostFunction TestTask(const std::string& name) {
  if (name == "do_nothing") return [](const void*) {};
  if (name == "fail") {
    return [](const void*) { throw std::runtime_error("the host task failed"); };
  }
  if (name == "sleep") {
    return [](const void* arguments) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(*static_cast<const std::int64_t*>(arguments)));
    };
  }
  throw Error(ErrorCode::kInvalidArgument, "test_task", "",
              "there is no task \"" + name + "\"; expected do_nothing, fail or sleep");
}

void BindTesting(nb::module_& m) {
  m.def(
      "test_task",
      [](const std::string& name) {
        return FromPointer(reinterpret_cast<const void*>(TestTask(name)));
      },
      "name"_a, "Returns the address of a host task for tests: do_nothing, fail or sleep.");
}

}  // namespace

void BindStreams(nb::module_& m) {
  BindEvents(m);
  BindStreamFunctions(m);
  BindGraphs(m);
  BindTesting(m);
}

}  // namespace infini::rt::bindings
