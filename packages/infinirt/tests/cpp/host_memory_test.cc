// Running out of host memory inside a call throws and leaves everything as it was: each allocation
// that a call makes is made to fail in turn.
#include <cstdlib>
#include <functional>
#include <new>

#include "backends.h"

namespace {

thread_local int allocations_left = -1;  // -1: no limit

}  // namespace

// Replaces the one that the library calls, too.
void* operator new(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace {

using namespace infini::rt;
using namespace infini::rt::testing;

/// Calls `call` with ever more memory until it works; returns how often it failed.
int FailEachAllocation(const std::function<void()>& call) {
  for (int failed = 0;; ++failed) {
    allocations_left = failed;
    try {
      call();
      allocations_left = -1;
      return failed;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
    } catch (const Error& error) {
      allocations_left = -1;
      CHECK(error.code() == ErrorCode::kOutOfMemory);
    }
  }
}

void TestMemory() {
  const std::size_t free_before = runtime::GetMemoryInfo().free;
  const bool exact = runtime::SelectedBackend() == Device::Type::kSim;
  for (int round = 0; round < 3; ++round) {
    void* first = nullptr;
    void* second = nullptr;
    FailEachAllocation([&first] { first = runtime::Malloc(1000); });
    FailEachAllocation([&second] { second = runtime::Malloc(3000); });
    FailEachAllocation([first] { runtime::Free(first); });
    FailEachAllocation([second] { runtime::Free(second); });
    CHECK_THROWS(runtime::Free(first), ErrorCode::kInvalidArgument, "not a live allocation");
    void* pinned = nullptr;
    FailEachAllocation([&pinned] { pinned = runtime::MallocHost(100); });
    FailEachAllocation([pinned] { runtime::FreeHost(pinned); });
  }
  if (exact) CHECK_EQ(runtime::GetMemoryInfo().free, free_before);
}

void TestHandles() {
  Stream stream;
  Event event;
  FailEachAllocation([&stream] { stream = runtime::StreamCreate(); });
  FailEachAllocation([&event] { event = runtime::EventCreate(); });
  FailEachAllocation([&] { runtime::EventRecord(event, stream); });
  runtime::EventSynchronize(event);  // a record that failed leaves nothing to wait for
  Graph graph;
  GraphExec exec;
  FailEachAllocation([&stream] { runtime::StreamBeginCapture(stream); });
  const std::byte arguments[1000] = {};
  FailEachAllocation(
      [&] { runtime::LaunchHost(stream, [](const void*) {}, arguments, sizeof arguments); });
  graph = runtime::StreamEndCapture(stream);
  CHECK_EQ(runtime::GraphTaskCount(graph), std::size_t{1});  // failed ones recorded nothing
  FailEachAllocation([&] { exec = runtime::GraphInstantiate(graph); });
  FailEachAllocation([&] { runtime::GraphLaunch(exec, stream); });
  runtime::StreamSynchronize(stream);
  runtime::GraphExecDestroy(exec);
  runtime::GraphDestroy(graph);
  runtime::EventDestroy(event);
  runtime::StreamDestroy(stream);
}

}  // namespace

int main() {
  ForEachBackend([] {
    const Device::Type type = runtime::SelectedBackend();
    if (type != Device::Type::kCpu && type != Device::Type::kSim) return;  // the SDK allocates, too
    TestMemory();
    TestHandles();
  });
  return Finish();
}
