// Streams of the simulated accelerator really run beside the host, and only events order them.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "backends.h"
#include "infini/rt/sim.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

std::atomic<bool> gate{false};

void WaitForGate(const void*) {
  while (!gate) std::this_thread::yield();
}

/// Keeps `stream` busy until the gate opens.
void CloseGate(Stream stream) {
  gate = false;
  runtime::LaunchHost(stream, WaitForGate, nullptr, 0);
}

void TestStreamsAreAsynchronous() {
  const Stream stream = runtime::StreamCreate();
  const Event event = runtime::EventCreate();
  CloseGate(stream);
  runtime::EventRecord(event, stream);
  CHECK(!runtime::StreamQuery(stream));
  CHECK(!runtime::EventQuery(event));
  CHECK_THROWS(runtime::EventElapsedTime(event, event), ErrorCode::kInvalidState, "not done yet");
  gate = true;
  runtime::EventSynchronize(event);
  CHECK(runtime::EventQuery(event));
  runtime::StreamSynchronize(stream);
  CHECK(runtime::StreamQuery(stream));
  runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
}

/// A copy on one stream is seen by another only after the event; without the wait the old value is
/// read.
void TestEventOrdersStreams() {
  const Stream writer = runtime::StreamCreate();
  const Stream reader = runtime::StreamCreate();
  int* const device = ToDevice<int>({1});
  auto* const host = static_cast<int*>(runtime::MallocHost(2 * sizeof(int)));
  host[0] = 2;
  const Event written = runtime::EventCreate();

  CloseGate(writer);
  runtime::MemcpyAsync(device, host, sizeof(int), MemcpyKind::kHostToDevice, writer);
  runtime::EventRecord(written, writer);
  runtime::MemcpyAsync(host + 1, device, sizeof(int), MemcpyKind::kDeviceToHost, reader);
  runtime::StreamSynchronize(reader);
  CHECK_EQ(host[1], 1);  // no wait, old value
  runtime::StreamWaitEvent(reader, written);
  runtime::MemcpyAsync(host + 1, device, sizeof(int), MemcpyKind::kDeviceToHost, reader);
  CHECK(!runtime::StreamQuery(reader));
  gate = true;
  runtime::StreamSynchronize(reader);
  CHECK_EQ(host[1], 2);

  // Destroying the event keeps the wait that is queued.
  host[0] = 3;
  CloseGate(writer);
  runtime::MemcpyAsync(device, host, sizeof(int), MemcpyKind::kHostToDevice, writer);
  runtime::EventRecord(written, writer);
  runtime::StreamWaitEvent(reader, written);
  runtime::EventDestroy(written);
  runtime::MemcpyAsync(host + 1, device, sizeof(int), MemcpyKind::kDeviceToHost, reader);
  gate = true;
  runtime::StreamSynchronize(reader);
  CHECK_EQ(host[1], 3);
  runtime::FreeHost(host);
  runtime::Free(device);
  runtime::StreamDestroy(writer);
  runtime::StreamDestroy(reader);
}

void TestPageableCopiesWait() {
  const Stream stream = runtime::StreamCreate();
  int* const device = ToDevice<int>({0});
  for (int value = 0; value < 200; ++value) {
    {
      std::vector<int> source{value};  // dropped at once
      runtime::MemcpyAsync(device, source.data(), sizeof(int), MemcpyKind::kHostToDevice, stream);
    }
    int back = -1;
    runtime::MemcpyAsync(&back, device, sizeof(int), MemcpyKind::kDeviceToHost, stream);
    CHECK_EQ(back, value);
  }
  runtime::Free(device);
  runtime::StreamDestroy(stream);
}

void TestKindsAreChecked() {
  int host[4] = {};
  int* const device = ToDevice<int>({1, 2, 3, 4});
  CHECK_THROWS(runtime::Memcpy(host, device, 4, MemcpyKind::kHostToHost),
               ErrorCode::kInvalidArgument, "is device memory");
  CHECK_THROWS(runtime::Memcpy(device, host, 4, MemcpyKind::kDeviceToDevice),
               ErrorCode::kInvalidArgument, "not device memory");
  CHECK_THROWS(runtime::Memcpy(host, host, 4, MemcpyKind::kHostToDevice),
               ErrorCode::kInvalidArgument, "not device memory");
  CHECK_THROWS(runtime::Memcpy(device, host, 17, MemcpyKind::kHostToDevice),
               ErrorCode::kInvalidArgument, "one live allocation");
  CHECK_THROWS(runtime::Memset(device, 0, 17), ErrorCode::kInvalidArgument, "one live allocation");
  CHECK_THROWS(runtime::MemsetAsync(host, 0, 4, Stream()), ErrorCode::kInvalidArgument,
               "not device memory");
  CHECK(ToHost(device, 4) == (std::vector<int>{1, 2, 3, 4}));
  runtime::Free(device);
  CHECK_THROWS(runtime::Memcpy(host, device, 4, MemcpyKind::kDeviceToHost),
               ErrorCode::kInvalidArgument, "freed");
}

void TestFreeIsOrdered() {
  const Stream stream = runtime::StreamCreate();
  const std::size_t free_before = runtime::GetMemoryInfo().free;
  void* const data = runtime::MallocAsync(4096, stream);
  CloseGate(stream);
  runtime::MemsetAsync(data, 1, 4096, stream);
  runtime::FreeAsync(data, stream);
  CHECK(runtime::GetMemoryInfo().free < free_before);  // still in use by what is queued
  gate = true;
  runtime::StreamSynchronize(stream);
  CHECK_EQ(runtime::GetMemoryInfo().free, free_before);
  // Destroying a stream does its queued work first.
  int* const value = ToDevice<int>({0});
  CloseGate(stream);
  runtime::MemsetAsync(value, 1, 1, stream);
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate = true;
  });
  runtime::StreamDestroy(stream);
  opener.join();
  CHECK(ToHost(value, 1) == std::vector<int>{1});
  runtime::Free(value);
}

void TestDevices() {
  int* const first = ToDevice<int>({41});
  runtime::SetDevice(1);
  int* const second = ToDevice<int>({0});
  runtime::Memcpy(second, first, sizeof(int), MemcpyKind::kDeviceToDevice);  // across devices
  CHECK(ToHost(second, 1) == std::vector<int>{41});
  const std::size_t free_on_second = runtime::GetMemoryInfo().free;
  runtime::Free(first);  // of device 0 while device 1 is current
  CHECK_EQ(runtime::GetMemoryInfo().free, free_on_second);
  CHECK_EQ(runtime::GetDevice(), 1);
  runtime::Free(second);
  runtime::SetDevice(0);
}

void TestControls() {
  CHECK_THROWS(sim::SetTaskDelay(-1), ErrorCode::kInvalidArgument, "-1");
  sim::SetTaskDelay(3000);
  const Event start = runtime::EventCreate();
  const Event end = runtime::EventCreate();
  runtime::EventRecord(start, Stream());
  runtime::EventRecord(end, Stream());
  runtime::EventSynchronize(end);
  CHECK(runtime::EventElapsedTime(start, end) >= 2.9f);
  sim::SetTaskDelay(0);
  runtime::EventDestroy(start);
  runtime::EventDestroy(end);
}

/// Records and waits of one event on one stream from several threads never wait for each other.
void TestConcurrentRecordsAndWaits() {
  const Stream stream = runtime::StreamCreate();
  const Event event = runtime::EventCreate();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([stream, event, i] {
      runtime::SelectBackend(Device::Type::kSim);
      for (int call = 0; call < 5000; ++call) {
        if (i % 2 == 0) {
          runtime::EventRecord(event, stream);
        } else {
          runtime::StreamWaitEvent(stream, event);
        }
        if (call % 500 == 0) runtime::StreamSynchronize(stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  runtime::StreamSynchronize(stream);
  runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
}

/// A task that ends its worker thread ends its stream with an error, not the process.
void TestTaskEndsItsThread() {
  const Stream stream = runtime::StreamCreate();
  runtime::LaunchHost(stream, [](const void*) { pthread_exit(nullptr); }, nullptr, 0);
  CHECK_THROWS(runtime::StreamSynchronize(stream), ErrorCode::kInvalidState, "ended the worker");
  CHECK_THROWS(runtime::LaunchHost(stream, WaitForGate, nullptr, 0), ErrorCode::kInvalidState,
               "ended the worker");
  runtime::StreamDestroy(stream);
  runtime::DeviceSynchronize();
}

/// Memory does not grow with the number of allocations made and freed.
void TestMemoryIsReused() {
  const std::size_t before = runtime::GetMemoryInfo().free;
  for (int repeat = 0; repeat < 2000; ++repeat) {
    void* const a = runtime::Malloc(1000);
    void* const b = runtime::Malloc(70000);
    runtime::Memset(b, 1, 70000);
    runtime::Free(a);
    runtime::Free(b);
  }
  CHECK_EQ(runtime::GetMemoryInfo().free, before);
  // All of it can be taken, then all of it again.
  void* const all = runtime::Malloc(before);
  CHECK_THROWS(runtime::Malloc(1), ErrorCode::kOutOfMemory, "could not allocate 1 bytes");
  runtime::Free(all);
  runtime::Free(runtime::Malloc(before));
}

}  // namespace

int main() {
  runtime::SelectBackend(Device::Type::kSim);
  CHECK_EQ(runtime::DeviceCount(), 2);
  TestStreamsAreAsynchronous();
  TestEventOrdersStreams();
  TestPageableCopiesWait();
  TestKindsAreChecked();
  TestFreeIsOrdered();
  TestDevices();
  TestControls();
  TestConcurrentRecordsAndWaits();
  TestTaskEndsItsThread();
  TestMemoryIsReused();
  return Finish();
}
