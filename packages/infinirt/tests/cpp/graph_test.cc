// Capture and replay: a graph does what the calls would have done, again and again, and misuse
// leaves a usable stream.
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

struct Add {
  std::uint64_t* sum;  // wraps
  std::uint64_t value;

  static void Run(const void* arguments) {
    const Add& task = *static_cast<const Add*>(arguments);
    *task.sum = *task.sum * 3 + task.value;  // depends on the order
  }
};

void LaunchAdd(Stream stream, std::uint64_t* sum, std::uint64_t value) {
  const Add task{sum, value};
  runtime::LaunchHost(stream, &Add::Run, &task, sizeof task);
}

void TestReplayEqualsCalls() {
  const Stream stream = runtime::StreamCreate();
  std::uint64_t direct = 1;
  std::uint64_t replayed = 1;
  runtime::StreamBeginCapture(stream);
  CHECK(runtime::StreamIsCapturing(stream));
  for (std::uint64_t i = 0; i < 1000; ++i) LaunchAdd(stream, &replayed, i % 3);
  const Graph graph = runtime::StreamEndCapture(stream);
  CHECK(!runtime::StreamIsCapturing(stream));
  CHECK_EQ(replayed, std::uint64_t{1});  // nothing ran yet
  CHECK_EQ(runtime::GraphTaskCount(graph), std::size_t{1000});
  const GraphExec exec = runtime::GraphInstantiate(graph);
  runtime::GraphDestroy(graph);  // the executable does not need it
  for (int launch = 0; launch < 3; ++launch) {
    runtime::GraphLaunch(exec, stream);
    for (std::uint64_t i = 0; i < 1000; ++i) LaunchAdd(stream, &direct, i % 3);
    runtime::StreamSynchronize(stream);
    CHECK_EQ(replayed, direct);
  }
  runtime::GraphLaunch(exec, stream);
  runtime::GraphExecDestroy(exec);  // before the launch has ended
  runtime::StreamSynchronize(stream);
  CHECK_THROWS(runtime::GraphLaunch(exec, stream), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::GraphExecDestroy(exec), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::GraphInstantiate(graph), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::GraphDestroy(Graph()), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::GraphTaskCount(graph), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  runtime::StreamDestroy(stream);
}

void TestMemoryOperations() {
  const Stream stream = runtime::StreamCreate();
  const std::vector<int> first(100, 1);
  const std::vector<int> second(100, 2);
  int* const source = ToDevice(first);
  int* const target = ToDevice(std::vector<int>(100, 0));
  runtime::StreamBeginCapture(stream);
  runtime::MemcpyAsync(target, source, 50 * sizeof(int), MemcpyKind::kDeviceToDevice, stream);
  runtime::MemsetAsync(target + 50, 0, 50 * sizeof(int), stream);
  runtime::MemcpyAsync(target, source, 0, MemcpyKind::kDeviceToDevice,
                       stream);  // nothing to record
  const Graph graph = runtime::StreamEndCapture(stream);
  CHECK_EQ(runtime::GraphTaskCount(graph), std::size_t{2});
  const GraphExec exec = runtime::GraphInstantiate(graph);
  CHECK(ToHost(target, 100) == std::vector<int>(100, 0));
  for (const auto& values : {first, second}) {
    runtime::Memcpy(source, values.data(), 100 * sizeof(int), MemcpyKind::kHostToDevice);
    runtime::Memset(target, 0xff, 100 * sizeof(int));
    runtime::GraphLaunch(exec, stream);
    runtime::StreamSynchronize(stream);
    std::vector<int> expected(values.begin(), values.begin() + 50);
    expected.resize(100, 0);
    CHECK(ToHost(target, 100) == expected);
  }
  runtime::GraphExecDestroy(exec);
  runtime::GraphDestroy(graph);
  runtime::Free(source);
  runtime::Free(target);
  runtime::StreamDestroy(stream);
}

void TestEmptyGraph() {
  const Stream stream = runtime::StreamCreate();
  runtime::StreamBeginCapture(stream);
  const Graph graph = runtime::StreamEndCapture(stream);
  const GraphExec exec = runtime::GraphInstantiate(graph);
  CHECK_EQ(runtime::GraphTaskCount(graph), std::size_t{0});
  runtime::GraphLaunch(exec, stream);
  runtime::StreamSynchronize(stream);
  runtime::GraphExecDestroy(exec);
  runtime::GraphDestroy(graph);
  runtime::StreamDestroy(stream);
}

/// Each of these calls spoils a capture, names itself, and leaves the stream usable.
void TestIllegalCalls() {
  const Stream stream = runtime::StreamCreate();
  const Event event = runtime::EventCreate();
  void* const data = runtime::Malloc(16);
  void* const pinned = runtime::MallocHost(16);
  char host[16] = {};
  runtime::StreamBeginCapture(stream);
  const Graph empty = runtime::StreamEndCapture(stream);
  const GraphExec exec = runtime::GraphInstantiate(empty);
  struct Case {
    const char* name;
    std::function<void()> call;
  };
  const std::vector<Case> cases = {
      {"Malloc", [&] { runtime::Malloc(16); }},
      {"MallocAsync", [&] { runtime::MallocAsync(16, stream); }},
      {"MallocHost", [&] { runtime::MallocHost(16); }},
      {"Free", [&] { runtime::Free(data); }},
      {"FreeAsync", [&] { runtime::FreeAsync(data, stream); }},
      {"FreeHost", [&] { runtime::FreeHost(pinned); }},
      {"Memcpy", [&] { runtime::Memcpy(data, host, 16, MemcpyKind::kHostToDevice); }},
      {"Memset", [&] { runtime::Memset(data, 0, 16); }},
      {"DeviceSynchronize", [&] { runtime::DeviceSynchronize(); }},
      {"StreamSynchronize", [&] { runtime::StreamSynchronize(stream); }},
      {"StreamQuery", [&] { static_cast<void>(runtime::StreamQuery(stream)); }},
      {"EventRecord", [&] { runtime::EventRecord(event, stream); }},
      {"EventQuery", [&] { static_cast<void>(runtime::EventQuery(event)); }},
      {"EventSynchronize", [&] { runtime::EventSynchronize(event); }},
      {"StreamWaitEvent", [&] { runtime::StreamWaitEvent(stream, event); }},
      {"GraphLaunch", [&] { runtime::GraphLaunch(exec, stream); }},
  };
  for (const Case& illegal : cases) {
    std::uint64_t sum = 0;
    runtime::StreamBeginCapture(stream);
    LaunchAdd(stream, &sum, 1);
    CHECK_THROWS(illegal.call(), ErrorCode::kInvalidState,
                 std::string(illegal.name) + " cannot be captured");
    CHECK_THROWS(LaunchAdd(stream, &sum, 1), ErrorCode::kInvalidState,
                 std::string("spoilt by ") + illegal.name);
    CHECK_THROWS(runtime::StreamEndCapture(stream), ErrorCode::kInvalidState, illegal.name);
    CHECK(!runtime::StreamIsCapturing(stream));
    LaunchAdd(stream, &sum, 7);  // runs again
    runtime::StreamSynchronize(stream);
    CHECK_EQ(sum, std::uint64_t{7});
  }
  runtime::GraphExecDestroy(exec);
  runtime::GraphDestroy(empty);
  runtime::Free(data);
  runtime::FreeHost(pinned);
  runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
}

void TestMisuse() {
  const Stream stream = runtime::StreamCreate();
  CHECK_THROWS(runtime::StreamEndCapture(stream), ErrorCode::kInvalidState, "not being captured");
  CHECK_THROWS(runtime::StreamEndCapture(Stream()), ErrorCode::kInvalidState, "not being captured");
  CHECK_THROWS(runtime::StreamBeginCapture(Stream()), ErrorCode::kInvalidArgument,
               "default stream cannot be captured");
  runtime::StreamBeginCapture(stream);
  CHECK_THROWS(runtime::StreamBeginCapture(stream), ErrorCode::kInvalidState, "captured already");
  CHECK_THROWS(runtime::StreamDestroy(stream), ErrorCode::kInvalidState, "being captured");
  std::uint64_t sum = 0;
  std::thread([&, type = runtime::SelectedBackend()] {
    runtime::SelectBackend(type);
    CHECK_THROWS(LaunchAdd(stream, &sum, 1), ErrorCode::kInvalidState,
                 "another thread is capturing");
    CHECK_THROWS(runtime::StreamEndCapture(stream), ErrorCode::kInvalidState,
                 "another thread began");
    CHECK_THROWS(runtime::StreamSynchronize(stream), ErrorCode::kInvalidState,
                 "another thread is capturing");
    runtime::Free(runtime::Malloc(16));  // another thread may go on
  }).join();
  const Graph graph = runtime::StreamEndCapture(stream);  // still sound
  if (runtime::DeviceCount() > 1) {
    const GraphExec exec = runtime::GraphInstantiate(graph);
    runtime::SetDevice(1);
    CHECK_THROWS(runtime::GraphLaunch(exec, Stream()), ErrorCode::kInvalidArgument,
                 "captured on device 0");
    runtime::SetDevice(0);
    runtime::GraphExecDestroy(exec);
  }
  runtime::GraphDestroy(graph);
  runtime::StreamDestroy(stream);
}

void TestTwoThreads() {
  const Device::Type type = runtime::SelectedBackend();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([type, i] {
      runtime::SelectBackend(type);
      const Stream stream = runtime::StreamCreate();
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::uint64_t sum = 0;
        runtime::StreamBeginCapture(stream);
        for (int task = 0; task < 20; ++task)
          LaunchAdd(stream, &sum, static_cast<std::uint64_t>(i));
        const Graph graph = runtime::StreamEndCapture(stream);
        const GraphExec exec = runtime::GraphInstantiate(graph);
        runtime::GraphLaunch(exec, stream);
        runtime::StreamSynchronize(stream);
        CHECK(sum == 0 || i == 1);
        runtime::GraphExecDestroy(exec);
        runtime::GraphDestroy(graph);
      }
      runtime::StreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A thread that ends discards what it was capturing; the stream stays usable.
void TestThreadEndsDuringCapture() {
  const Stream stream = runtime::StreamCreate();
  std::uint64_t sum = 0;
  std::thread([&, type = runtime::SelectedBackend()] {
    runtime::SelectBackend(type);
    runtime::StreamBeginCapture(stream);
    LaunchAdd(stream, &sum, 1);
  }).join();
  CHECK(!runtime::StreamIsCapturing(stream));
  LaunchAdd(stream, &sum, 5);
  runtime::StreamSynchronize(stream);
  CHECK_EQ(sum, std::uint64_t{5});
  runtime::StreamBeginCapture(stream);
  runtime::GraphDestroy(runtime::StreamEndCapture(stream));
  runtime::StreamDestroy(stream);
}

void TestFailingTask() {
  if (!(runtime::SelectedBackend() == Device::Type::kCpu ||
        runtime::SelectedBackend() == Device::Type::kSim))
    return;
  const Stream stream = runtime::StreamCreate();
  std::uint64_t sum = 0;
  runtime::StreamBeginCapture(stream);
  LaunchAdd(stream, &sum, 1);
  runtime::LaunchHost(
      stream, [](const void*) { throw std::runtime_error("in the graph"); }, nullptr, 0);
  LaunchAdd(stream, &sum, 100);
  const Graph graph = runtime::StreamEndCapture(stream);
  const GraphExec exec = runtime::GraphInstantiate(graph);
  bool caught = false;
  try {
    runtime::GraphLaunch(exec, stream);
    runtime::StreamSynchronize(stream);
  } catch (const std::runtime_error& error) {
    caught = std::string(error.what()) == "in the graph";
  }
  CHECK(caught);
  CHECK_EQ(sum, std::uint64_t{1});  // the rest of the launch did not run
  runtime::GraphExecDestroy(exec);
  runtime::GraphDestroy(graph);
  runtime::StreamDestroy(stream);
}

}  // namespace

int main() {
  ForEachBackend([] {
    if (!runtime::HasCapability(Capability::kGraphCapture)) {
      const Stream stream = runtime::StreamCreate();
      CHECK_THROWS(runtime::StreamBeginCapture(stream), ErrorCode::kNotSupported, "cannot capture");
      runtime::StreamDestroy(stream);
      return;
    }
    TestReplayEqualsCalls();
    TestMemoryOperations();
    TestEmptyGraph();
    TestIllegalCalls();
    TestMisuse();
    TestTwoThreads();
    TestThreadEndsDuringCapture();
    TestFailingTask();
  });
  return Finish();
}
