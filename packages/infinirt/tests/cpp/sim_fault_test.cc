// The fault plan makes each runtime function fail once; the error names the call and nothing leaks
// or changes.
#include <functional>
#include <map>
#include <string>

#include "backends.h"
#include "infini/rt/sim.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

/// Everything a function needs, and one call of it by its name in the plan.
class Fixture {
 public:
  Fixture() {
    runtime::StreamBeginCapture(captured_);
    graph_ = runtime::StreamEndCapture(captured_);
    exec_ = runtime::GraphInstantiate(graph_);
    runtime::EventRecord(event_, stream_);
    runtime::EventSynchronize(event_);
  }

  ~Fixture() {
    runtime::GraphExecDestroy(exec_);
    runtime::GraphDestroy(graph_);
    runtime::EventDestroy(event_);
    runtime::StreamDestroy(stream_);
    runtime::StreamDestroy(captured_);
    runtime::Free(data_);
  }

  /// Calls each function once, releasing at once what a call makes.
  std::map<std::string, std::function<void()>> Calls() {
    return {
        {"device_count", [] { static_cast<void>(runtime::DeviceCount()); }},
        {"get_device", [] { static_cast<void>(runtime::GetDevice()); }},
        {"set_device", [] { runtime::SetDevice(0); }},
        {"get_device_properties", [] { static_cast<void>(runtime::GetDeviceProperties(0)); }},
        {"device_synchronize", [] { runtime::DeviceSynchronize(); }},
        {"get_memory_info", [] { static_cast<void>(runtime::GetMemoryInfo()); }},
        {"malloc", [] { runtime::Free(runtime::Malloc(64)); }},
        {"free", [] { FreeTwice(runtime::Malloc(64), [](void* data) { runtime::Free(data); }); }},
        {"malloc_async",
         [this] { runtime::FreeAsync(runtime::MallocAsync(64, stream_), stream_); }},
        {"free_async",
         [this] {
           FreeTwice(runtime::Malloc(64),
                     [this](void* data) { runtime::FreeAsync(data, stream_); });
         }},
        {"malloc_host", [] { runtime::FreeHost(runtime::MallocHost(64)); }},
        {"free_host",
         [] { FreeTwice(runtime::MallocHost(64), [](void* data) { runtime::FreeHost(data); }); }},
        {"memcpy", [this] { runtime::Memcpy(data_, host_, 8, MemcpyKind::kHostToDevice); }},
        {"memcpy_async",
         [this] { runtime::MemcpyAsync(data_, host_, 8, MemcpyKind::kHostToDevice, stream_); }},
        {"memset", [this] { runtime::Memset(data_, 1, 8); }},
        {"memset_async", [this] { runtime::MemsetAsync(data_, 1, 8, stream_); }},
        {"task_pointer", [this] { runtime::TaskPointer(Device(Device::Type::kSim, 0), data_, 8); }},
        {"get_stream_priority_range", [] { static_cast<void>(runtime::GetStreamPriorityRange()); }},
        {"stream_create", [] { runtime::StreamDestroy(runtime::StreamCreate()); }},
        {"stream_destroy", [] { DestroyTwice(runtime::StreamCreate(), runtime::StreamDestroy); }},
        {"stream_query", [this] { static_cast<void>(runtime::StreamQuery(stream_)); }},
        {"stream_synchronize", [this] { runtime::StreamSynchronize(stream_); }},
        {"stream_wait_event", [this] { runtime::StreamWaitEvent(stream_, event_); }},
        {"default_stream", [] { static_cast<void>(runtime::DefaultStream()); }},
        {"current_stream", [] { static_cast<void>(runtime::CurrentStream()); }},
        {"set_current_stream", [] { runtime::SetCurrentStream(Stream()); }},
        {"stream_device", [this] { static_cast<void>(runtime::StreamDevice(stream_)); }},
        {"stream_native_handle",
         [this] { CHECK(runtime::StreamNativeHandle(stream_) == nullptr); }},
        {"stream_from_native_handle",
         [] {
           try {
             runtime::StreamFromNativeHandle(nullptr);
           } catch (const Error& error) {
             if (error.code() != ErrorCode::kNotSupported) throw;  // sim has no native streams
           }
         }},
        {"event_create", [] { runtime::EventDestroy(runtime::EventCreate()); }},
        {"event_destroy", [] { DestroyTwice(runtime::EventCreate(), runtime::EventDestroy); }},
        {"event_record", [this] { runtime::EventRecord(event_, stream_); }},
        {"event_query", [this] { static_cast<void>(runtime::EventQuery(event_)); }},
        {"event_synchronize", [this] { runtime::EventSynchronize(event_); }},
        {"event_elapsed_time",
         [this] {
           runtime::EventSynchronize(event_);
           static_cast<void>(runtime::EventElapsedTime(event_, event_));
         }},
        {"launch_host", [this] { runtime::LaunchHost(stream_, [](const void*) {}, nullptr, 0); }},
        {"stream_begin_capture",
         [this] {
           runtime::StreamBeginCapture(captured_);
           runtime::GraphDestroy(runtime::StreamEndCapture(captured_));
         }},
        {"stream_end_capture",
         [this] {
           if (!runtime::StreamIsCapturing(captured_)) runtime::StreamBeginCapture(captured_);
           runtime::GraphDestroy(runtime::StreamEndCapture(captured_));
         }},
        {"stream_is_capturing",
         [this] { static_cast<void>(runtime::StreamIsCapturing(captured_)); }},
        {"graph_instantiate",
         [this] { runtime::GraphExecDestroy(runtime::GraphInstantiate(graph_)); }},
        {"graph_launch", [this] { runtime::GraphLaunch(exec_, stream_); }},
        {"graph_task_count", [this] { static_cast<void>(runtime::GraphTaskCount(graph_)); }},
        {"graph_destroy",
         [this] {
           runtime::StreamBeginCapture(captured_);
           DestroyTwice(runtime::StreamEndCapture(captured_), runtime::GraphDestroy);
         }},
        {"graph_exec_destroy",
         [this] { DestroyTwice(runtime::GraphInstantiate(graph_), runtime::GraphExecDestroy); }},
    };
  }

 private:
  /// Frees; if that fails, frees again, which must work since nothing changed, and passes the
  /// failure on.
  template <typename Free>
  static void FreeTwice(void* data, Free free) {
    try {
      free(data);
    } catch (const Error&) {
      free(data);
      throw;
    }
  }

  template <typename Handle, typename Destroy>
  static void DestroyTwice(Handle handle, Destroy destroy) {
    try {
      destroy(handle);
    } catch (const Error&) {
      destroy(handle);
      throw;
    }
  }

  void* data_ = runtime::Malloc(64);
  char host_[8] = {};
  Stream stream_ = runtime::StreamCreate();
  Stream captured_ = runtime::StreamCreate();
  Event event_ = runtime::EventCreate();
  Graph graph_;
  GraphExec exec_;
};

std::string PascalCase(const std::string& snake) {
  std::string name;
  bool upper = true;
  for (const char letter : snake) {
    if (letter == '_') {
      upper = true;
    } else {
      name += upper ? static_cast<char>(letter - 'a' + 'A') : letter;
      upper = false;
    }
  }
  return name;
}

void TestEachFault() {
  const std::size_t free_before = runtime::GetMemoryInfo().free;
  {
    Fixture fixture;
    const auto calls = fixture.Calls();
    for (const std::string_view name : sim::FaultPoints()) {
      const auto call = calls.find(std::string(name));
      CHECK(call != calls.end() && "a runtime function has no case here");
      if (call == calls.end()) continue;
      const bool allocates = name == "malloc" || name == "malloc_async" || name == "malloc_host";
      sim::SetFaultPlan(std::string(name) + ":1");
      CHECK_THROWS(call->second(), allocates ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailure,
                   PascalCase(std::string(name)) + " on sim: this call fails because");
      call->second();  // once only
      sim::SetFaultPlan("");
    }
  }
  CHECK_EQ(runtime::GetMemoryInfo().free, free_before);
}

void TestNthCall() {
  sim::SetFaultPlan("malloc:3,memset:1");
  void* const a = runtime::Malloc(64);
  CHECK_THROWS(runtime::Memset(a, 0, 64), ErrorCode::kDeviceFailure, "Memset");
  void* const b = runtime::Malloc(64);
  CHECK_THROWS(runtime::Malloc(64), ErrorCode::kOutOfMemory, "Malloc");
  runtime::Free(runtime::Malloc(64));
  runtime::Free(a);
  runtime::Free(b);
}

void TestPlans() {
  for (const char* plan : {"malloc", "malloc:0", "malloc:-1", "malloc:x", "no_such_call:1", ":1",
                           "malloc:1;free:1", "malloc:1,", ",", "malloc:1,malloc:3"}) {
    CHECK_THROWS(sim::SetFaultPlan(plan), ErrorCode::kInvalidArgument, "cannot read fault plan");
  }
  runtime::Free(runtime::Malloc(64));  // a refused plan changed nothing
  const auto points = sim::FaultPoints();
  const auto before = sim::CallCounts();
  CHECK_EQ(before.size(), points.size());
  runtime::Free(runtime::Malloc(64));
  const auto after = sim::CallCounts();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool called = points[i] == "malloc" || points[i] == "free";
    CHECK_EQ(after[i] - before[i], static_cast<std::uint64_t>(called));
  }
}

}  // namespace

int main() {
  runtime::SelectBackend(Device::Type::kSim);
  TestEachFault();
  TestNthCall();
  TestPlans();
  return Finish();
}
