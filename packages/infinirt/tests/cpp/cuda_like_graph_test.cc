// The CUDA-like backend of this build: capture and replay. Runs on the vendor's devices or on the
// stand-in SDK.
#include <atomic>
#include <functional>
#include <thread>

#include "cuda_like.h"

namespace infini::rt::testing {
namespace {

using namespace runtime;  // NOLINT(google-build-using-namespace): every line
                          // below calls it

constexpr std::size_t kSize = 256;

/// Returns what `record` queues on a stream as a graph that is ready to launch.
GraphExec Capture(const std::function<void(Stream)>& record) {
  const Stream stream = StreamCreate();
  StreamBeginCapture(stream);
  record(stream);
  const Graph graph = StreamEndCapture(stream);
  StreamDestroy(stream);
  const GraphExec exec = GraphInstantiate(graph);
  GraphDestroy(graph);  // the result does not depend on it
  return exec;
}

void AddOne(const void* counter) { ++**static_cast<std::atomic<int>* const*>(counter); }

void LaunchAddOne(Stream stream, std::atomic<int>& counter) {
  std::atomic<int>* const argument = &counter;
  LaunchHost(stream, AddOne, &argument, sizeof argument);
}

void TestReplayEqualsDirectWork() {
  const std::vector<std::uint8_t> bytes = CountingBytes(kSize, 1);
  const DeviceBytes source(kSize);
  const DeviceBytes direct(kSize);
  const DeviceBytes replayed(kSize);
  Memcpy(source.data(), bytes.data(), kSize, MemcpyKind::kHostToDevice);
  std::atomic<int> runs{0};
  const auto work = [&](Stream stream, const DeviceBytes& target) {
    MemcpyAsync(target.data(), source.data(), kSize, MemcpyKind::kDeviceToDevice, stream);
    MemsetAsync(target.data() + 16, 0xab, 32, stream);
    LaunchAddOne(stream, runs);
  };
  const Stream stream = StreamCreate();
  work(stream, direct);
  StreamSynchronize(stream);
  CHECK_EQ(runs.load(), 1);
  Memset(replayed.data(), 0, kSize);

  StreamBeginCapture(stream);
  CHECK(StreamIsCapturing(stream));
  work(stream, replayed);
  const Graph graph = StreamEndCapture(stream);
  CHECK(!StreamIsCapturing(stream));
  CHECK_EQ(GraphTaskCount(graph), std::size_t{3});
  CHECK_EQ(runs.load(), 1);
  CHECK(replayed.ToHost() == std::vector<std::uint8_t>(kSize, 0));
  const GraphExec exec = GraphInstantiate(graph);
  for (int i = 0; i < 3; ++i) {
    Memset(replayed.data(), 0, kSize);
    GraphLaunch(exec, stream);
    StreamSynchronize(stream);
    CHECK_EQ(runs.load(), 2 + i);
    CHECK(replayed.ToHost() == direct.ToHost());
  }
  GraphExecDestroy(exec);
  GraphDestroy(graph);
  StreamDestroy(stream);
}

void TestErrorsOfReplayedHostTasks() {
  const GraphExec exec = Capture([](Stream stream) {
    LaunchHost(stream, [](const void*) { throw TaskFailure("replayed"); }, nullptr, 0);
  });
  const Stream stream = StreamCreate();
  const Stream other = StreamCreate();
  for (int i = 0; i < 2; ++i) {
    GraphLaunch(exec, stream);
    CHECK_EQ(FailureOf([&] { StreamSynchronize(other); }), "");
    CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "replayed");
    CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "");
  }
  // Only the first exception is raised.
  LaunchHost(stream, [](const void*) { throw TaskFailure("direct"); }, nullptr, 0);
  GraphLaunch(exec, stream);
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "direct");
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "");
  // The graph may go while its launch is queued, and the stream still tells.
  GraphLaunch(exec, stream);
  GraphExecDestroy(exec);
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "replayed");
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "");
  StreamDestroy(other);
  StreamDestroy(stream);
}

void TestQueuedLaunchesOutliveTheirHandles() {
  std::atomic<int> runs{0};
  const Stream stream = StreamCreate();
  const GraphExec exec = Capture([&](Stream recording) { LaunchAddOne(recording, runs); });
  for (int i = 0; i < 100; ++i) GraphLaunch(exec, stream);
  GraphExecDestroy(exec);
  StreamDestroy(stream);  // its queued work is done first
  CHECK_EQ(runs.load(), 100);
}

void TestMisuse() {
  const Stream stream = StreamCreate();
  const DeviceBytes memory(kSize);
  CHECK_THROWS(StreamBeginCapture(DefaultStream()), ErrorCode::kInvalidArgument, "default stream");
  CHECK_THROWS(StreamEndCapture(stream), ErrorCode::kInvalidState, "not being captured");
  StreamBeginCapture(stream);
  CHECK_THROWS(StreamBeginCapture(stream), ErrorCode::kInvalidState, "being captured already");
  MemsetAsync(memory.data(), 1, kSize, stream);
  CHECK_THROWS(Malloc(8), ErrorCode::kInvalidState, "cannot be captured");
  CHECK_THROWS(StreamEndCapture(stream), ErrorCode::kInvalidState, "Malloc");
  // The stream is as good as new.
  MemsetAsync(memory.data(), 2, kSize, stream);
  StreamSynchronize(stream);
  CHECK_EQ(int{memory.ToHost()[0]}, 2);
  StreamBeginCapture(stream);
  const Graph empty = StreamEndCapture(stream);
  CHECK_EQ(GraphTaskCount(empty), std::size_t{0});
  GraphDestroy(empty);
  StreamDestroy(stream);
}

/// A thread that captures may wait for and destroy what the capture does not concern.
void TestOtherStreamsDuringCapture() {
  std::atomic<int> runs{0};
  const GraphExec old_exec = Capture([&](Stream recording) { LaunchAddOne(recording, runs); });
  const Stream old_stream = StreamCreate();
  const Event old_event = EventCreate();
  GraphLaunch(old_exec, old_stream);
  const GraphExec exec = Capture([&](Stream recording) {
    LaunchAddOne(recording, runs);
    while (!StreamQuery(old_stream)) {
    }
    GraphLaunch(old_exec, old_stream);
    StreamSynchronize(old_stream);
    GraphExecDestroy(old_exec);
    StreamDestroy(old_stream);
    EventDestroy(old_event);
    LaunchAddOne(recording, runs);
  });
  CHECK_EQ(runs.load(), 2);
  const Stream stream = StreamCreate();
  GraphLaunch(exec, stream);
  StreamSynchronize(stream);
  CHECK_EQ(runs.load(), 4);
  GraphExecDestroy(exec);
  StreamDestroy(stream);
}

/// While one thread captures, another allocates and frees on the same device.
void TestCaptureBesideAnotherThread(Device::Type type) {
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    SelectBackend(type);
    const Stream stream = StreamCreate();
    while (!is_done.load()) {
      Free(Malloc(64));
      FreeHost(MallocHost(64));
      FreeAsync(MallocAsync(64, stream), stream);
      StreamSynchronize(stream);
    }
    StreamDestroy(stream);
  });
  std::atomic<int> runs{0};
  const Stream stream = StreamCreate();
  for (int i = 0; i < 50; ++i) {
    const GraphExec exec = Capture([&](Stream recording) {
      for (int k = 0; k < 10; ++k) LaunchAddOne(recording, runs);
    });
    GraphLaunch(exec, stream);
    GraphExecDestroy(exec);
  }
  StreamSynchronize(stream);
  is_done = true;
  other.join();
  CHECK_EQ(runs.load(), 500);
  StreamDestroy(stream);
}

int Run() {
  const Device::Type type = CudaLikeBackend();
  SelectBackend(type);
  if (DeviceCount() == 0) return kSkipped;
  TestReplayEqualsDirectWork();
  TestErrorsOfReplayedHostTasks();
  TestQueuedLaunchesOutliveTheirHandles();
  TestMisuse();
  TestOtherStreamsDuringCapture();
  TestCaptureBesideAnotherThread(type);
  return Finish();
}

}  // namespace
}  // namespace infini::rt::testing

int main() { return infini::rt::testing::Run(); }
