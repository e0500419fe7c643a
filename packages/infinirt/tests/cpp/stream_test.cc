// Streams: creation, the current one, handles after destruction, many of them.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

void TestHandles() {
  const Stream stream = runtime::StreamCreate();
  CHECK(stream != Stream());
  CHECK(runtime::StreamQuery(stream));
  CHECK(runtime::StreamDevice(stream) == Device(runtime::SelectedBackend(), 0));
  runtime::StreamDestroy(stream);
  for (int repeat = 0; repeat < 2; ++repeat) {
    CHECK_THROWS(runtime::StreamDestroy(stream), ErrorCode::kInvalidArgument,
                 "destroyed or never created");
    CHECK_THROWS(runtime::StreamSynchronize(stream), ErrorCode::kInvalidArgument,
                 "destroyed or never created");
    CHECK_THROWS(runtime::StreamQuery(stream), ErrorCode::kInvalidArgument,
                 "destroyed or never created");
    CHECK_THROWS(runtime::SetCurrentStream(stream), ErrorCode::kInvalidArgument,
                 "destroyed or never created");
    CHECK_THROWS(runtime::StreamBeginCapture(stream), ErrorCode::kInvalidArgument,
                 "destroyed or never created");
    const Stream other = runtime::StreamCreate();  // takes the same slot
    CHECK(other != stream);
    runtime::StreamDestroy(other);
  }
  CHECK_THROWS(runtime::StreamQuery(Stream{12345}), ErrorCode::kInvalidArgument, "never created");
  CHECK_THROWS(runtime::StreamQuery(Stream{UINT64_MAX >> 1}), ErrorCode::kInvalidArgument,
               "never created");
  const std::uint64_t own = runtime::DefaultStream().id;
  for (const std::uint64_t id :
       {std::uint64_t{UINT64_MAX}, own | std::uint64_t{1} << 50, own | std::uint64_t{0xff} << 32}) {
    CHECK_THROWS(runtime::StreamQuery(Stream{id}), ErrorCode::kInvalidArgument, "stream");
  }
  CHECK_THROWS(runtime::StreamQuery(Stream{own | 1000}), ErrorCode::kIndexOutOfRange, "1000");
}

void TestDefaultStream() {
  const Stream stream = runtime::DefaultStream();
  CHECK(runtime::StreamQuery(stream));
  runtime::StreamSynchronize(stream);
  runtime::StreamSynchronize(Stream());
  CHECK_THROWS(runtime::StreamDestroy(stream), ErrorCode::kInvalidArgument,
               "default stream cannot be destroyed");
  CHECK_THROWS(runtime::StreamDestroy(Stream()), ErrorCode::kInvalidArgument,
               "default stream cannot be destroyed");
}

void TestPriorities() {
  const StreamPriorityRange range = runtime::GetStreamPriorityRange();
  CHECK(range.greatest <= range.least);
  runtime::StreamDestroy(runtime::StreamCreate(range.greatest));
  runtime::StreamDestroy(runtime::StreamCreate(range.least));
  CHECK_THROWS(runtime::StreamCreate(range.least + 1), ErrorCode::kInvalidArgument, "priority");
  CHECK_THROWS(runtime::StreamCreate(range.greatest - 1), ErrorCode::kInvalidArgument, "priority");
}

void TestCurrentStream() {
  CHECK(runtime::CurrentStream() == runtime::DefaultStream());
  const Stream stream = runtime::StreamCreate();
  runtime::SetCurrentStream(stream);
  CHECK(runtime::CurrentStream() == stream);
  std::thread([type = runtime::SelectedBackend()] {
    runtime::SelectBackend(type);
    CHECK(runtime::CurrentStream() == runtime::DefaultStream());
  }).join();
  runtime::SetCurrentStream(Stream());
  CHECK(runtime::CurrentStream() == runtime::DefaultStream());
  runtime::StreamDestroy(stream);
}

void TestManyStreams() {
  for (int repeat = 0; repeat < 10000; ++repeat) runtime::StreamDestroy(runtime::StreamCreate());
  std::vector<Stream> streams;
  for (int i = 0; i < 300; ++i) streams.push_back(runtime::StreamCreate());
  for (const Stream stream : streams) runtime::StreamSynchronize(stream);
  for (const Stream stream : streams) runtime::StreamDestroy(stream);
}

void TestThreadsShareAStream() {
  const Stream stream = runtime::StreamCreate();
  std::vector<std::thread> threads;
  const Device::Type type = runtime::SelectedBackend();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([type, stream] {
      runtime::SelectBackend(type);
      for (int repeat = 0; repeat < 500; ++repeat) {
        static_cast<void>(runtime::StreamQuery(stream));
        runtime::StreamSynchronize(stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  runtime::StreamDestroy(stream);
}

/// Destroying a stream that other threads use makes their calls fail; it never crashes them.
void TestDestroyWhileUsed() {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Stream stream = runtime::StreamCreate();
    const Device::Type type = runtime::SelectedBackend();
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([type, stream] {
        runtime::SelectBackend(type);
        try {
          while (true)
            static_cast<void>(runtime::StreamQuery(stream));  // ends when the stream does
        } catch (const Error& error) {
          CHECK(error.code() == ErrorCode::kInvalidArgument);
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    runtime::StreamDestroy(stream);
    for (std::thread& thread : threads) thread.join();
  }
}

void TestOtherBackend() {
  const Device::Type type = runtime::SelectedBackend();
  const Stream stream = runtime::StreamCreate();
  const Stream default_stream = runtime::DefaultStream();
  for (const Device::Type other : runtime::CompiledBackends()) {
    if (other == type) continue;
    runtime::SelectBackend(other);
    if (runtime::DeviceCount() == 0) continue;
    CHECK_THROWS(runtime::StreamSynchronize(stream), ErrorCode::kInvalidArgument,
                 "select that backend");
    CHECK_THROWS(runtime::StreamSynchronize(default_stream), ErrorCode::kInvalidArgument,
                 "select that backend");
  }
  runtime::SelectBackend(type);
  runtime::StreamDestroy(stream);
}

/// A static object that uses a stream when the thread's own state is gone.
struct UsesStreamsLate {
  ~UsesStreamsLate() {
    if (runtime::CurrentStream() != runtime::DefaultStream()) std::abort();
    const StreamGuard guard(runtime::DefaultStream());
  }
};
const UsesStreamsLate uses_streams_late;

}  // namespace

int main() {
  runtime::SelectBackend(runtime::CompiledBackends().front());
  if (runtime::DeviceCount() > 0) runtime::SetCurrentStream(runtime::StreamCreate());

  ForEachBackend([] {
    runtime::SetCurrentStream(Stream());
    TestHandles();
    TestDefaultStream();
    TestPriorities();
    TestCurrentStream();
    TestManyStreams();
    TestThreadsShareAStream();
    TestDestroyWhileUsed();
    TestOtherBackend();
  });
  runtime::SelectBackend(runtime::CompiledBackends().front());
  if (runtime::DeviceCount() > 0) runtime::SetCurrentStream(runtime::StreamCreate());
  return Finish();
}
