// Memory: every kind of copy at awkward sizes, fills, and refusal of everything that is not an
// allocation.
#include <cstring>
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

void TestRoundTrips() {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{3}, (std::size_t{1} << 20) + 1}) {
    std::vector<unsigned char> values(bytes);
    for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<unsigned char>(i * 7 + 1);
    // Unaligned on both sides.
    auto* const a = static_cast<unsigned char*>(runtime::Malloc(bytes + 1));
    auto* const b = static_cast<unsigned char*>(runtime::Malloc(bytes + 1));
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, std::uintptr_t{0});
    for (const bool async : {false, true}) {
      const Stream stream = runtime::StreamCreate();
      const auto copy = [&](void* target, const void* source, MemcpyKind kind) {
        if (async) {
          runtime::MemcpyAsync(target, source, bytes, kind, stream);
        } else {
          runtime::Memcpy(target, source, bytes, kind);
        }
      };
      std::vector<unsigned char> staged(bytes, 0);
      std::vector<unsigned char> back(bytes, 0);
      copy(staged.data(), values.data(), MemcpyKind::kHostToHost);
      copy(a + 1, staged.data(), MemcpyKind::kHostToDevice);
      copy(b + 1, a + 1, MemcpyKind::kDeviceToDevice);
      copy(back.data(), b + 1, MemcpyKind::kDeviceToHost);
      runtime::StreamSynchronize(stream);
      CHECK(back == values);
      runtime::MemsetAsync(b + 1, 0x1ab, bytes, stream);  // only the low 8 bits count
      runtime::StreamSynchronize(stream);
      CHECK(ToHost(b + 1, bytes) == std::vector<unsigned char>(bytes, 0xab));
      runtime::StreamDestroy(stream);
    }
    runtime::Memset(a, 7, bytes + 1);
    CHECK(ToHost(a, bytes + 1) == std::vector<unsigned char>(bytes + 1, 7));
    runtime::Free(a);
    runtime::Free(b);
  }
}

void TestNothing() {
  CHECK(runtime::Malloc(0) == nullptr);
  CHECK(runtime::MallocHost(0) == nullptr);
  CHECK(runtime::MallocAsync(0, Stream()) == nullptr);
  runtime::Free(nullptr);
  runtime::FreeHost(nullptr);
  runtime::FreeAsync(nullptr, Stream());
  for (int kind = 0; kind < 4; ++kind) {
    runtime::Memcpy(nullptr, nullptr, 0, static_cast<MemcpyKind>(kind));
    runtime::MemcpyAsync(nullptr, nullptr, 0, static_cast<MemcpyKind>(kind), Stream());
  }
  runtime::Memset(nullptr, 1, 0);
  runtime::MemsetAsync(nullptr, 1, 0, Stream());
  runtime::DeviceSynchronize();
}

void TestRefusals() {
  char host[8] = {};
  void* const device = runtime::Malloc(8);
  constexpr std::size_t kHuge = SIZE_MAX;
  CHECK_THROWS(runtime::Memcpy(nullptr, host, 1, MemcpyKind::kHostToDevice),
               ErrorCode::kInvalidArgument, "target is null");
  CHECK_THROWS(runtime::Memcpy(device, nullptr, 1, MemcpyKind::kHostToDevice),
               ErrorCode::kInvalidArgument, "source is null");
  CHECK_THROWS(runtime::MemcpyAsync(nullptr, host, 1, MemcpyKind::kHostToDevice, Stream()),
               ErrorCode::kInvalidArgument, "target is null");
  CHECK_THROWS(runtime::Memcpy(device, host, kHuge, MemcpyKind::kHostToDevice),
               ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(runtime::Memcpy(device, host, 8, static_cast<MemcpyKind>(9)),
               ErrorCode::kInvalidArgument, "kind of copy");
  CHECK_THROWS(runtime::Memset(nullptr, 0, 1), ErrorCode::kInvalidArgument, "data is null");
  CHECK_THROWS(runtime::Memset(device, 0, kHuge), ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(runtime::MemsetAsync(nullptr, 0, 1, Stream()), ErrorCode::kInvalidArgument,
               "data is null");
  CHECK_THROWS(runtime::Malloc(kHuge), ErrorCode::kInvalidArgument, "negative");
  CHECK_THROWS(runtime::Malloc(std::size_t{1} << 60), ErrorCode::kOutOfMemory, "");
  CHECK_THROWS(runtime::MallocHost(std::size_t{1} << 60), ErrorCode::kOutOfMemory, "");
  CHECK_THROWS(runtime::MallocAsync(std::size_t{1} << 60, Stream()), ErrorCode::kOutOfMemory, "");

  // Not allocations: foreign, interior, freed, of the other kind.
  CHECK_THROWS(runtime::Free(host), ErrorCode::kInvalidArgument, "not a live allocation");
  CHECK_THROWS(runtime::Free(static_cast<char*>(device) + 1), ErrorCode::kInvalidArgument,
               "not a live allocation");
  CHECK_THROWS(runtime::FreeHost(device), ErrorCode::kInvalidArgument, "MallocHost");
  CHECK_THROWS(runtime::FreeAsync(host, Stream()), ErrorCode::kInvalidArgument,
               "not a live allocation");
  void* const pinned = runtime::MallocHost(8);
  CHECK_THROWS(runtime::Free(pinned), ErrorCode::kInvalidArgument, "not a live allocation");
  runtime::FreeHost(pinned);
  CHECK_THROWS(runtime::FreeHost(pinned), ErrorCode::kInvalidArgument, "freed before");
  runtime::Free(device);
  CHECK_THROWS(runtime::Free(device), ErrorCode::kInvalidArgument, "freed before");
  // Whatever was refused, the backend still works.
  int* const values = ToDevice<int>({1, 2, 3});
  CHECK(ToHost(values, 3) == (std::vector<int>{1, 2, 3}));
  runtime::Free(values);
}

void TestAsyncAllocation() {
  const Stream stream = runtime::StreamCreate();
  for (int repeat = 0; repeat < 100; ++repeat) {
    void* const data = runtime::MallocAsync(1000, stream);
    runtime::MemsetAsync(data, repeat, 1000, stream);
    runtime::FreeAsync(data, stream);
  }
  void* const data = runtime::MallocAsync(16, stream);
  runtime::MemsetAsync(data, 5, 16, stream);
  runtime::StreamSynchronize(stream);
  CHECK(ToHost(static_cast<unsigned char*>(data), 16) == std::vector<unsigned char>(16, 5));
  runtime::Free(data);
  runtime::StreamDestroy(stream);
}

void TestThreads() {
  std::vector<std::thread> threads;
  const Device::Type type = runtime::SelectedBackend();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([type, i] {
      runtime::SelectBackend(type);
      for (int repeat = 0; repeat < 200; ++repeat) {
        int* const data = ToDevice<int>({i, repeat, 3});
        CHECK(ToHost(data, 3) == (std::vector<int>{i, repeat, 3}));
        runtime::Free(data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void TestTaskPointer() {
  const Device device(runtime::SelectedBackend(), 0);
  if (device.type() != Device::Type::kCpu && device.type() != Device::Type::kSim) {
    char byte = 0;
    CHECK_THROWS(runtime::TaskPointer(device, &byte, 1), ErrorCode::kNotSupported, "host tasks");
    return;
  }
  void* const data = runtime::Malloc(100);
  CHECK(runtime::TaskPointer(device, data, 100) != nullptr);
  CHECK((runtime::TaskPointer(device, data, 100) == data) ==
        runtime::HasCapability(Capability::kHostAccess));
  CHECK_THROWS(runtime::TaskPointer(device, nullptr, 1), ErrorCode::kInvalidArgument, "null");
  CHECK_THROWS(runtime::TaskPointer(Device(device.type(), 64), data, 1),
               ErrorCode::kIndexOutOfRange, "64");
  if (device.type() == Device::Type::kSim) {
    CHECK_THROWS(runtime::TaskPointer(device, data, 101), ErrorCode::kInvalidArgument,
                 "one live allocation");
    CHECK_THROWS(runtime::TaskPointer(device, &device, 1), ErrorCode::kInvalidArgument,
                 "not device memory");
    runtime::Free(data);
    CHECK_THROWS(runtime::TaskPointer(device, data, 1), ErrorCode::kInvalidArgument, "freed");
    return;
  }
  runtime::Free(data);
}

}  // namespace

int main() {
  ForEachBackend([] {
    TestRoundTrips();
    TestNothing();
    TestRefusals();
    TestAsyncAllocation();
    TestThreads();
    TestTaskPointer();
  });
  return Finish();
}
