// Host tasks get a copy of their arguments, run in order, and report their exceptions once.
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

struct Append {
  std::vector<int>* log;
  int value;

  static void Run(const void* arguments) {
    const Append& task = *static_cast<const Append*>(arguments);
    task.log->push_back(task.value);
  }
};

void Throw(const void*) { throw std::runtime_error("the task failed"); }

bool ThrowsRuntimeError(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return std::string(error.what()) == "the task failed";
  }
  return false;
}

void TestOrderAndCopies() {
  const Stream stream = runtime::StreamCreate();
  std::vector<int> log;
  for (int i = 0; i < 1000; ++i) {
    const Append task{&log, i};  // gone before the task may run
    runtime::LaunchHost(stream, &Append::Run, &task, sizeof task);
  }
  runtime::StreamSynchronize(stream);
  bool in_order = log.size() == 1000;
  for (int i = 0; in_order && i < 1000; ++i) in_order = log[static_cast<std::size_t>(i)] == i;
  CHECK(in_order);

  // Arguments beyond any inline buffer, aligned for every fundamental type.
  struct Large {
    std::array<long double, 200> values;
    std::atomic<int>* seen;
  };
  std::atomic<int> seen{0};
  auto large = std::make_unique<Large>();
  large->seen = &seen;
  for (std::size_t i = 0; i < large->values.size(); ++i)
    large->values[i] = static_cast<long double>(i);
  runtime::LaunchHost(
      stream,
      [](const void* arguments) {
        const Large& task = *static_cast<const Large*>(arguments);
        bool right = reinterpret_cast<std::uintptr_t>(arguments) % alignof(std::max_align_t) == 0;
        for (std::size_t i = 0; i < task.values.size(); ++i)
          right &= task.values[i] == static_cast<long double>(i);
        *task.seen = right ? 1 : 2;
      },
      large.get(), sizeof *large);
  runtime::StreamSynchronize(stream);
  CHECK_EQ(seen.load(), 1);
  runtime::StreamDestroy(stream);
}

void TestErrors() {
  const Stream stream = runtime::StreamCreate();
  CHECK_THROWS(runtime::LaunchHost(stream, nullptr, nullptr, 0), ErrorCode::kInvalidArgument,
               "function is null");
  CHECK_THROWS(runtime::LaunchHost(stream, Throw, nullptr, 4), ErrorCode::kInvalidArgument,
               "arguments is null but its size is 4");
  char byte = 0;
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 2 + 1}) {
    CHECK_THROWS(runtime::LaunchHost(stream, Throw, &byte, size), ErrorCode::kInvalidArgument,
                 "2^63");
    runtime::StreamBeginCapture(stream);
    CHECK_THROWS(runtime::LaunchHost(stream, Throw, &byte, size), ErrorCode::kInvalidArgument,
                 "2^63");
    runtime::GraphDestroy(runtime::StreamEndCapture(stream));
  }
  const bool async = runtime::HasCapability(Capability::kAsyncStreams);
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (async) {
      runtime::LaunchHost(stream, Throw, nullptr, 0);
      runtime::LaunchHost(stream, Throw, nullptr, 0);  // the first one is kept
      CHECK(ThrowsRuntimeError([&] { runtime::StreamSynchronize(stream); }));
    } else {
      CHECK(ThrowsRuntimeError([&] { runtime::LaunchHost(stream, Throw, nullptr, 0); }));
    }
    runtime::StreamSynchronize(stream);  // raised once only
    runtime::DeviceSynchronize();
  }
  if (async) {
    runtime::LaunchHost(stream, Throw, nullptr, 0);
    CHECK(ThrowsRuntimeError([] { runtime::DeviceSynchronize(); }));
    runtime::StreamSynchronize(stream);
    runtime::LaunchHost(Stream(), Throw, nullptr, 0);
    CHECK(ThrowsRuntimeError([] { runtime::StreamSynchronize(Stream()); }));
  }
  if (async) {
    // An error that nobody raised is not lost with its stream.
    const Stream short_lived = runtime::StreamCreate();
    runtime::LaunchHost(short_lived, Throw, nullptr, 0);
    runtime::StreamDestroy(short_lived);
    CHECK(ThrowsRuntimeError([] { runtime::DeviceSynchronize(); }));
    runtime::DeviceSynchronize();
  }
  // Work after an error still runs.
  std::vector<int> log;
  const Append task{&log, 1};
  runtime::LaunchHost(stream, &Append::Run, &task, sizeof task);
  runtime::StreamSynchronize(stream);
  CHECK_EQ(log.size(), std::size_t{1});
  runtime::StreamDestroy(stream);
}

/// On cpu a task may use the runtime, even destroy its own stream; elsewhere it must not, and is
/// told so.
void TestCallsFromTasks() {
  static Stream own;
  own = runtime::StreamCreate();
  const HostFunction destroy = [](const void*) { runtime::StreamDestroy(own); };
  if (runtime::SelectedBackend() == Device::Type::kCpu) {
    runtime::LaunchHost(own, destroy, nullptr, 0);
    CHECK_THROWS(runtime::StreamQuery(own), ErrorCode::kInvalidArgument, "destroyed");
  } else if (runtime::SelectedBackend() == Device::Type::kSim) {
    runtime::LaunchHost(own, destroy, nullptr, 0);
    CHECK_THROWS(runtime::StreamSynchronize(own), ErrorCode::kInvalidState,
                 "a host task of an asynchronous stream");
    runtime::StreamDestroy(own);
  } else {
    runtime::StreamDestroy(own);
  }
}

}  // namespace

int main() {
  ForEachBackend([] {
    TestOrderAndCopies();
    TestErrors();
    TestCallsFromTasks();
  });
  return Finish();
}
