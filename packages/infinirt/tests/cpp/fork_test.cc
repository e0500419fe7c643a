// A forked child works or is told at once what to do; it never hangs.
#include <atomic>
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

bool Has(Device::Type type) {
  for (const Device::Type compiled : runtime::CompiledBackends()) {
    if (compiled == type) return true;
  }
  return false;
}

void UseEverything() {
  int* const data = ToDevice<int>({1, 2, 3});
  CHECK(ToHost(data, 3) == (std::vector<int>{1, 2, 3}));
  const Stream stream = runtime::StreamCreate();
  const Event event = runtime::EventCreate();
  runtime::EventRecord(event, stream);
  runtime::EventSynchronize(event);
  runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
  runtime::Free(data);
  std::atomic<std::int64_t> total{0};
  ParallelFor(1000, 1, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
  CHECK_EQ(total.load(), std::int64_t{1000});
}

}  // namespace

int main() {
  SetNumThreads(4);
  if (Has(Device::Type::kSim)) {
    // Before the parent used the device, the child may.
    CHECK_EQ(StatusOfChild([] {
               runtime::SelectBackend(Device::Type::kSim);
               UseEverything();
             }),
             0);
    // After that it is refused at once, whatever it calls, and may still ask how many devices there
    // are.
    runtime::SelectBackend(Device::Type::kSim);
    UseEverything();
    const Stream stream = runtime::StreamCreate();
    CHECK_EQ(StatusOfChild([stream] {
               CHECK_EQ(runtime::DeviceCount(), 2);
               CHECK_THROWS(runtime::Malloc(1), ErrorCode::kInvalidState, "'spawn'");
               CHECK_THROWS(runtime::SetDevice(1), ErrorCode::kInvalidState, "'spawn'");
               CHECK_THROWS(runtime::StreamSynchronize(stream), ErrorCode::kInvalidState,
                            "'spawn'");
               CHECK_THROWS(runtime::StreamDestroy(stream), ErrorCode::kInvalidState, "'spawn'");
               CHECK_THROWS(runtime::DeviceSynchronize(), ErrorCode::kInvalidState, "'spawn'");
               CHECK_THROWS(runtime::CurrentStream(), ErrorCode::kInvalidState, "'spawn'");
             }),
             0);
    runtime::StreamDestroy(stream);
    UseEverything();  // the parent goes on
  }
  if (Has(Device::Type::kCpu)) {
    runtime::SelectBackend(Device::Type::kCpu);
    UseEverything();
    // Other threads hold the library's locks again and again while the process forks.
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&stop] {
        runtime::SelectBackend(Device::Type::kCpu);
        while (!stop) UseEverything();
      });
    }
    for (int repeat = 0; repeat < 20; ++repeat) {
      CHECK_EQ(StatusOfChild([] {
                 runtime::SelectBackend(Device::Type::kCpu);
                 UseEverything();
               }),
               0);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();

    // Threads that the child does not have were inside a look-up, or capturing, when it was forked.
    stop = false;
    const Stream looked_up = runtime::StreamCreate();
    const Stream captured = runtime::StreamCreate();
    std::atomic<bool> capturing{false};
    threads.clear();
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        runtime::SelectBackend(Device::Type::kCpu);
        while (!stop) static_cast<void>(runtime::StreamQuery(looked_up));
      });
    }
    threads.emplace_back([&] {
      runtime::SelectBackend(Device::Type::kCpu);
      runtime::StreamBeginCapture(captured);
      capturing = true;
      while (!stop) std::this_thread::yield();
      runtime::GraphDestroy(runtime::StreamEndCapture(captured));
    });
    while (!capturing) std::this_thread::yield();
    for (int repeat = 0; repeat < 20; ++repeat) {
      CHECK_EQ(StatusOfChild([looked_up, captured] {
                 runtime::StreamDestroy(looked_up);
                 CHECK(!runtime::StreamIsCapturing(captured));
                 runtime::StreamDestroy(captured);
               }),
               0);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
  }
  return Finish();
}
