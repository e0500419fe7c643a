// The CUDA-like backend of this build when functions of its SDK fail. Needs the stand-in SDK, which
// fails on demand and counts what is alive.
#include <standin.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "cuda_like.h"

namespace infini::rt::testing {
namespace {

using namespace runtime;  // NOLINT(google-build-using-namespace): every line
                          // below calls it

std::string SdkName(const char* function) { return std::string(standinPrefix()) + function; }

/// Makes the next call of the SDK's `function` fail.
void FailNext(const char* function, int status = STANDIN_UNKNOWN) {
  standinSetFault(SdkName(function).c_str(), 1, status);
}

auto Counts(const StandinLive& live) {
  return std::tie(live.device_allocations, live.host_allocations, live.streams, live.events,
                  live.graphs, live.graph_execs);
}

std::string Text(const StandinLive& live) {
  return std::to_string(live.device_allocations) + " device allocations, " +
         std::to_string(live.host_allocations) + " host allocations, " +
         std::to_string(live.streams) + " streams, " + std::to_string(live.events) + " events, " +
         std::to_string(live.graphs) + " graphs, " + std::to_string(live.graph_execs) +
         " graph execs";
}

/// Runs actions in reverse order. One that throws is tried again: a failed call leaves what it was
/// to release alive.
class Cleanup {
 public:
  void Add(std::function<void()> action) { actions_.push_back(std::move(action)); }

  void Run() {
    for (; !actions_.empty(); actions_.pop_back()) {
      try {
        actions_.back()();
      } catch (const Error&) {
        actions_.back()();
      }
    }
  }

 private:
  std::vector<std::function<void()>> actions_;
};

void Nothing(const void*) {}

/// Calls every entry of the backend, some for a device that is not current.
void UseEverything(Cleanup& cleanup) {
  SetDevice(1);
  cleanup.Add([] { SetDevice(0); });
  static std::uint8_t host[64];  // copies may still be queued when a call fails
  const Stream away = StreamCreate();
  cleanup.Add([=] { StreamDestroy(away); });
  void* const away_memory = Malloc(64);
  cleanup.Add([=] { Free(away_memory); });
  SetDevice(0);
  GetDeviceProperties(0);
  GetMemoryInfo();
  void* const ordered = MallocAsync(64, away);
  cleanup.Add([=] { FreeAsync(ordered, away); });
  void* const pinned = MallocHost(64);
  cleanup.Add([=] { FreeHost(pinned); });
  MemsetAsync(away_memory, 1, 64, away);
  MemcpyAsync(host, away_memory, 64, MemcpyKind::kDeviceToHost, away);
  LaunchHost(away, Nothing, host, sizeof host);
  StreamQuery(away);
  StreamSynchronize(away);

  const Stream stream = StreamCreate(GetStreamPriorityRange().greatest);
  cleanup.Add([=] { StreamDestroy(stream); });
  const Stream wrapper = StreamFromNativeHandle(StreamNativeHandle(stream));
  cleanup.Add([=] { StreamDestroy(wrapper); });
  const Event start = EventCreate();
  cleanup.Add([=] { EventDestroy(start); });
  const Event end = EventCreate();
  cleanup.Add([=] { EventDestroy(end); });
  void* const memory = Malloc(64);
  cleanup.Add([=] { Free(memory); });
  Memcpy(memory, host, 64, MemcpyKind::kHostToDevice);
  Memset(memory, 2, 64);
  EventRecord(start, stream);
  EventRecord(end, stream);
  StreamWaitEvent(away, end);
  EventQuery(end);
  EventSynchronize(end);
  EventElapsedTime(start, end);

  StreamBeginCapture(stream);
  const auto graph = std::make_shared<Graph>();
  cleanup.Add([=] {
    if (StreamIsCapturing(stream)) *graph = StreamEndCapture(stream);
    if (*graph != Graph{}) GraphDestroy(*graph);
  });
  MemsetAsync(memory, 3, 64, stream);
  LaunchHost(stream, Nothing, host, sizeof host);
  *graph = StreamEndCapture(stream);
  CHECK_EQ(GraphTaskCount(*graph), std::size_t{2});
  const GraphExec exec = GraphInstantiate(*graph);
  cleanup.Add([=] { GraphExecDestroy(exec); });
  GraphLaunch(exec, stream);
  DeviceSynchronize();
}

/// Fails the `nth` SDK call of `UseEverything` and its cleanup. Returns whether there are that
/// many.
bool FailCall(std::size_t nth, int status, ErrorCode code) {
  const StandinLive before = standinLive();
  std::string raised;
  bool has_code = true;
  Cleanup cleanup;
  standinSetFault(nullptr, nth, status);
  try {
    UseEverything(cleanup);
  } catch (const Error& error) {
    raised = error.what();
    has_code = error.code() == code;
  }
  const bool must_raise = standinFaultedFunction() != nullptr;  // what only destroys cannot tell
  cleanup.Run();
  const char* const faulted = standinFaultedFunction();
  standinSetFault(nullptr, 0, 0);
  for (const int device : {1, 0}) {  // work of streams whose wait failed is still to be done
    SetDevice(device);
    DeviceSynchronize();
  }
  if (faulted == nullptr) {
    CHECK_EQ(raised, "");
    return false;
  }
  const std::string call =
      "call " + std::to_string(nth) + ", " + faulted + ", status " + std::to_string(status) + ": ";
  const StandinLive after = standinLive();
  if (Counts(after) != Counts(before)) {
    ReportFailure(__FILE__, __LINE__, call + "left " + Text(after));
  }
  if (standinPeekLastError() != 0) {
    ReportFailure(__FILE__, __LINE__, call + "the SDK still holds its error");
  }
  if (!must_raise) return true;
  if (raised.find(faulted) == std::string::npos) {
    ReportFailure(__FILE__, __LINE__, call + "raised \"" + raised + "\"");
  }
  if (!has_code) ReportFailure(__FILE__, __LINE__, call + "raised another code: " + raised);
  return true;
}

void TestEveryCallFails() {
  for (const auto& [status, code] : {std::pair(STANDIN_UNKNOWN, ErrorCode::kDeviceFailure),
                                     std::pair(STANDIN_OUT_OF_MEMORY, ErrorCode::kOutOfMemory),
                                     std::pair(STANDIN_NOT_SUPPORTED, ErrorCode::kNotSupported)}) {
    std::size_t calls = 1;
    while (FailCall(calls, status, code)) ++calls;
    CHECK(calls > 60);
  }
}

void TestTextOfErrors() {
  const std::string device = std::string(DeviceTypeName(SelectedBackend())) + ":0";
  const std::string prefix = standinPrefix();
  FailNext("Malloc", STANDIN_OUT_OF_MEMORY);
  CHECK_THROWS(Malloc(64), ErrorCode::kOutOfMemory,
               "Malloc on " + device + ": " + prefix + "Malloc of 64 bytes returned " + prefix +
                   "ErrorMemoryAllocation (out of memory)");
  FailNext("StreamSynchronize");
  CHECK_THROWS(StreamSynchronize(DefaultStream()), ErrorCode::kDeviceFailure,
               "StreamSynchronize on " + device + ": " + prefix + "StreamSynchronize returned " +
                   prefix + "ErrorUnknown (unknown error)");
  // A call that concerns no particular device names the current one.
  FailNext("MemsetAsync");
  const DeviceBytes memory(8);
  CHECK_THROWS(Memset(memory.data(), 0, 8), ErrorCode::kDeviceFailure,
               "Memset on " + device + ": ");
}

void TestNotReadyIsAnAnswer() {
  const Stream stream = StreamCreate();
  const Event event = EventCreate();
  EventRecord(event, stream);
  EventSynchronize(event);
  FailNext("StreamQuery", STANDIN_NOT_READY);
  CHECK(!StreamQuery(stream));
  FailNext("EventQuery", STANDIN_NOT_READY);
  CHECK(!EventQuery(event));
  CHECK_EQ(standinPeekLastError(), 0);
  CHECK(StreamQuery(stream));
  CHECK(EventQuery(event));
  EventDestroy(event);
  StreamDestroy(stream);
}

void TestFailedFreeKeepsTheMemory() {
  void* const memory = Malloc(64);
  void* const pinned = MallocHost(64);
  FailNext("Free");
  CHECK_THROWS(Free(memory), ErrorCode::kDeviceFailure, "Free");
  FailNext("FreeHost");
  CHECK_THROWS(FreeHost(pinned), ErrorCode::kDeviceFailure, "FreeHost");
  Memset(memory, 1, 64);
  Free(memory);
  FreeHost(pinned);
}

/// What a queued launch uses stays when the SDK cannot say that the launch has ended.
void TestLaunchOutlivesAFailedWait() {
  static int runs = 0;
  const Stream stream = StreamCreate();
  int* const argument = &runs;
  const auto add_one = [](const void* counter) { ++**static_cast<int* const*>(counter); };
  for (const char* const function : {"EventSynchronize", "EventRecord"}) {
    runs = 0;
    StreamBeginCapture(stream);
    LaunchHost(stream, add_one, &argument, sizeof argument);
    const Graph graph = StreamEndCapture(stream);
    const GraphExec exec = GraphInstantiate(graph);
    GraphDestroy(graph);
    FailNext(function);
    try {
      GraphLaunch(exec, stream);
    } catch (const Error& error) {
      CHECK_EQ(error.function(), "GraphLaunch");
    }
    GraphExecDestroy(exec);
    StreamSynchronize(stream);
    CHECK_EQ(standinFaultedFunction(), SdkName(function));
    CHECK_EQ(runs, 1);
  }
  StreamDestroy(stream);
}

void TestHandlesOfNoStream() {
  int not_a_stream = 0;
  CHECK_THROWS(StreamFromNativeHandle(&not_a_stream), ErrorCode::kDeviceFailure, "StreamGetFlags");
}

void TestNothingIsCalledForWhatTheSdkLacks() {
  const Stream stream = StreamCreate();
  const std::string malloc = HasCapability(Capability::kAsyncMalloc) ? "MallocAsync" : "Malloc";
  FailNext(malloc.c_str(), STANDIN_OUT_OF_MEMORY);
  CHECK_THROWS(MallocAsync(8, stream), ErrorCode::kOutOfMemory,
               SdkName(malloc.c_str()) + " of 8 bytes");
  StreamDestroy(stream);
}

/// Memory of the pool is freed only after the work of its device: the SDK does not wait for that by
/// itself.
void TestFreeWaitsForPoolMemory() {
  if (!HasCapability(Capability::kAsyncMalloc)) return;
  const Stream stream = StreamCreate();
  void* const memory = MallocAsync(64, stream);
  FailNext("DeviceSynchronize");
  CHECK_THROWS(Free(memory), ErrorCode::kDeviceFailure, SdkName("DeviceSynchronize"));
  Free(memory);
  StreamDestroy(stream);
}

/// In a child, since a process remembers its devices.
void TestFailedCountMeansNoDevice() {
  CHECK_EQ(StatusOfChild([] {
             FailNext("GetDeviceCount");
             CHECK_EQ(DeviceCount(), 0);
             CHECK_EQ(standinPeekLastError(), 0);
             CHECK_EQ(DeviceCount(), 2);
           }),
           0);
}

void TestFaultOfTheEnvironment() {
  CHECK_EQ(StatusOfChild([] {
             setenv("STANDIN_FAULT", (SdkName("Malloc") + ":2").c_str(), 1);
             Free(Malloc(8));
             CHECK_THROWS(Malloc(8), ErrorCode::kDeviceFailure, SdkName("Malloc"));
             Free(Malloc(8));
           }),
           0);
}

/// A child of a process that used the device is refused at once and can still ask how many devices
/// there are.
void TestForkAfterUse() {
  CHECK_EQ(StatusOfChild([] {
             CHECK_THROWS(Malloc(8), ErrorCode::kInvalidState, "forked");
             CHECK_EQ(DeviceCount(), 2);
           }),
           0);
}

int Run() {
  SelectBackend(CudaLikeBackend());
  // First, while the process has not used the SDK.
  TestFailedCountMeansNoDevice();
  TestFaultOfTheEnvironment();
  CHECK_EQ(DeviceCount(), 2);
  TestEveryCallFails();
  TestTextOfErrors();
  TestNotReadyIsAnAnswer();
  TestFailedFreeKeepsTheMemory();
  TestLaunchOutlivesAFailedWait();
  TestHandlesOfNoStream();
  TestNothingIsCalledForWhatTheSdkLacks();
  TestFreeWaitsForPoolMemory();
  TestForkAfterUse();
  const StandinLive live = standinLive();
  if (Counts(live) != Counts(StandinLive{})) {
    ReportFailure(__FILE__, __LINE__, "left " + Text(live));
  }
  return Finish();
}

}  // namespace
}  // namespace infini::rt::testing

int main() { return infini::rt::testing::Run(); }
