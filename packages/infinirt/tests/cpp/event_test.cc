// Events: queries, waits, timing, and every way to misuse them.
#include <chrono>
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

void TestLifeCycle() {
  const Stream stream = runtime::StreamCreate();
  const Event event = runtime::EventCreate();
  CHECK(runtime::EventQuery(event));  // before the first record
  runtime::EventSynchronize(event);
  runtime::StreamWaitEvent(stream, event);  // no wait, and no hang
  runtime::StreamSynchronize(stream);
  runtime::EventRecord(event, stream);
  runtime::StreamSynchronize(stream);
  CHECK(runtime::EventQuery(event));
  runtime::EventRecord(event, stream);  // a second record replaces the first
  runtime::EventSynchronize(event);
  CHECK(runtime::EventQuery(event));
  runtime::StreamDestroy(stream);
  CHECK(runtime::EventQuery(event));  // outlives its stream
  runtime::EventSynchronize(event);
  runtime::EventDestroy(event);
  CHECK_THROWS(runtime::EventDestroy(event), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::EventQuery(event), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::EventRecord(event, Stream()), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::EventSynchronize(Event()), ErrorCode::kInvalidArgument,
               "destroyed or never created");
  CHECK_THROWS(runtime::StreamWaitEvent(Stream(), event), ErrorCode::kInvalidArgument,
               "destroyed or never created");
}

void TestTiming() {
  const Stream stream = runtime::StreamCreate();
  const Event start = runtime::EventCreate();
  const Event end = runtime::EventCreate();
  const Event untimed = runtime::EventCreate({.timing = false});
  CHECK_THROWS(runtime::EventElapsedTime(start, end), ErrorCode::kInvalidState,
               "start was never recorded");
  runtime::EventRecord(start, stream);
  runtime::EventSynchronize(start);
  CHECK_THROWS(runtime::EventElapsedTime(start, end), ErrorCode::kInvalidState,
               "end was never recorded");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  runtime::EventRecord(end, stream);
  runtime::EventRecord(untimed, stream);
  runtime::StreamSynchronize(stream);
  CHECK(runtime::EventElapsedTime(start, end) >= 1.0f);
  CHECK(runtime::EventElapsedTime(end, start) <= -1.0f);
  CHECK_EQ(runtime::EventElapsedTime(start, start), 0.0f);
  CHECK_THROWS(runtime::EventElapsedTime(start, untimed), ErrorCode::kInvalidArgument,
               "end was created without timing");
  CHECK_THROWS(runtime::EventElapsedTime(untimed, start), ErrorCode::kInvalidArgument,
               "start was created without timing");
  for (const Event event : {start, end, untimed}) runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
}

void TestOptions() {
  if (!runtime::HasCapability(Capability::kBlockingEvent)) {
    CHECK_THROWS(runtime::EventCreate({.blocking = true}), ErrorCode::kNotSupported,
                 "blocking_event");
  }
  if (!runtime::HasCapability(Capability::kIpcEvent)) {
    CHECK_THROWS(runtime::EventCreate({.timing = false, .interprocess = true}),
                 ErrorCode::kNotSupported, "ipc_event");
  } else {
    CHECK_THROWS(runtime::EventCreate({.interprocess = true}), ErrorCode::kInvalidArgument,
                 "timing = false");
  }
}

void TestDevices() {
  if (runtime::DeviceCount() < 2) return;
  const Event first = runtime::EventCreate();
  runtime::EventRecord(first, Stream());
  runtime::EventSynchronize(first);
  runtime::SetDevice(1);
  const Event second = runtime::EventCreate();
  CHECK_THROWS(runtime::EventRecord(first, Stream()), ErrorCode::kInvalidArgument,
               "created on device 0 but the stream");
  runtime::EventRecord(second, Stream());
  runtime::EventSynchronize(second);
  CHECK_THROWS(runtime::EventElapsedTime(first, second), ErrorCode::kInvalidArgument,
               "different devices");
  runtime::StreamWaitEvent(Stream(), first);  // across devices is fine
  runtime::StreamSynchronize(Stream());
  runtime::SetDevice(0);
  runtime::EventDestroy(first);
  runtime::EventDestroy(second);
}

void TestManyEvents() {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const Event event = runtime::EventCreate();
    runtime::EventRecord(event, Stream());
    runtime::EventDestroy(event);
  }
  runtime::StreamSynchronize(Stream());
}

}  // namespace

int main() {
  ForEachBackend([] {
    TestLifeCycle();
    TestTiming();
    TestOptions();
    TestDevices();
    TestManyEvents();
  });
  return Finish();
}
