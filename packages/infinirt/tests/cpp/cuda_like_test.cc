// The CUDA-like backend of this build: devices, memory, streams, events, host tasks.
//
// Runs on the vendor's devices or on the stand-in SDK. `--no-device`: checks what a machine without
// a device gets, and passes only there.
#include <atomic>
#include <cstring>
#include <string_view>
#include <thread>

#include "cuda_like.h"

namespace infini::rt::testing {
namespace {

using namespace runtime;  // NOLINT(google-build-using-namespace): every line
                          // below calls it

void TestWithoutDevice(Device::Type type) {
  CHECK_EQ(DeviceCount(), 0);
  CHECK_EQ(GetDevice(), 0);
  CHECK_THROWS(SetDevice(0), ErrorCode::kIndexOutOfRange, "SetDevice");
  CHECK_THROWS(Malloc(64), ErrorCode::kIndexOutOfRange, "no device");
  CHECK_THROWS(StreamCreate(), ErrorCode::kIndexOutOfRange, "no device");
  CHECK_THROWS(DeviceGuard(Device(type, 0)), ErrorCode::kIndexOutOfRange, "no device");
  Device::Type chosen = type;
  std::thread([&chosen] { chosen = SelectedBackend(); }).join();
  const bool has_cpu = CompiledBackends().front() == Device::Type::kCpu;
  CHECK(chosen == (has_cpu ? Device::Type::kCpu : type));
}

void TestDevices(Device::Type type) {
  Device::Type chosen = Device::Type::kCpu;
  std::thread([&chosen] { chosen = SelectedBackend(); }).join();
  CHECK(chosen == type);

  const int count = DeviceCount();
  for (int index = 0; index < count; ++index) {
    const DeviceProperties properties = GetDeviceProperties(index);
    CHECK(!properties.name.empty());
    CHECK(properties.total_memory > 0);
    CHECK(properties.multiprocessor_count > 0);
    CHECK(properties.capability_major > 0);
    SetDevice(index);
    CHECK_EQ(GetDevice(), index);
    CHECK(GetMemoryInfo().free <= GetMemoryInfo().total);
    DeviceSynchronize();
  }
  int of_new_thread = -1;
  std::thread([&] {
    SelectBackend(type);
    of_new_thread = GetDevice();
  }).join();
  CHECK_EQ(of_new_thread, 0);
  CHECK_THROWS(SetDevice(count), ErrorCode::kIndexOutOfRange, "out of range");
  SetDevice(0);
}

void TestCopies() {
  constexpr std::size_t kSize = 1000;
  const std::vector<std::uint8_t> bytes = CountingBytes(kSize, 1);
  const DeviceBytes a(kSize);
  const DeviceBytes b(kSize);
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, std::uintptr_t{0});
  Memcpy(a.data(), bytes.data(), kSize, MemcpyKind::kHostToDevice);
  Memcpy(b.data(), a.data(), kSize, MemcpyKind::kDeviceToDevice);
  CHECK(b.ToHost() == bytes);
  Memset(b.data() + 1, 0x1ff, kSize - 2);
  std::vector<std::uint8_t> filled(kSize, 0xff);
  filled.front() = bytes.front();
  filled.back() = bytes.back();
  CHECK(b.ToHost() == filled);
  std::vector<std::uint8_t> host(kSize);
  Memcpy(host.data(), bytes.data(), kSize, MemcpyKind::kHostToHost);
  CHECK(host == bytes);

  const Stream stream = StreamCreate();
  auto* const pinned = static_cast<std::uint8_t*>(MallocHost(kSize));
  MemsetAsync(a.data(), 7, kSize, stream);
  MemcpyAsync(b.data(), a.data(), kSize, MemcpyKind::kDeviceToDevice, stream);
  MemcpyAsync(pinned, b.data(), kSize, MemcpyKind::kDeviceToHost, stream);
  StreamSynchronize(stream);
  CHECK(std::vector<std::uint8_t>(pinned, pinned + kSize) == std::vector<std::uint8_t>(kSize, 7));
  std::memcpy(pinned, bytes.data(), kSize);
  MemcpyAsync(a.data(), pinned, kSize, MemcpyKind::kHostToDevice, stream);
  StreamSynchronize(stream);
  CHECK(a.ToHost() == bytes);
  FreeHost(pinned);
  StreamDestroy(stream);
}

void TestAllocation() {
  constexpr std::size_t kTooMuch = std::size_t{1} << 50;
  CHECK_THROWS(Malloc(kTooMuch), ErrorCode::kOutOfMemory, "1125899906842624 bytes");
  CHECK_THROWS(MallocAsync(kTooMuch, DefaultStream()), ErrorCode::kOutOfMemory,
               "1125899906842624 bytes");
  void* const after_failure = Malloc(64);
  CHECK(after_failure != nullptr);
  Free(after_failure);
  CHECK_THROWS(Free(after_failure), ErrorCode::kInvalidArgument, "not a live allocation");

  const Stream stream = StreamCreate();
  void* const ordered = MallocAsync(256, stream);
  MemsetAsync(ordered, 5, 256, stream);
  std::uint8_t last = 0;
  MemcpyAsync(&last, static_cast<std::uint8_t*>(ordered) + 255, 1, MemcpyKind::kDeviceToHost,
              stream);
  FreeAsync(ordered, stream);
  StreamSynchronize(stream);
  CHECK_EQ(int{last}, 5);
  Free(MallocAsync(256, stream));
  FreeAsync(Malloc(256), stream);
  StreamSynchronize(stream);
  StreamDestroy(stream);
}

void TestStreams() {
  const StreamPriorityRange range = GetStreamPriorityRange();
  CHECK(range.greatest <= range.least);
  for (int priority = range.greatest; priority <= range.least; ++priority) {
    const Stream stream = StreamCreate(priority);
    CHECK(StreamQuery(stream));
    StreamDestroy(stream);
  }
  CHECK(StreamNativeHandle(DefaultStream()) == nullptr);
  StreamSynchronize(DefaultStream());

  // A stream of somebody else is used and left alone.
  const Stream owner = StreamCreate();
  void* const native = StreamNativeHandle(owner);
  CHECK(native != nullptr);
  const Stream wrapper = StreamFromNativeHandle(native);
  CHECK(StreamNativeHandle(wrapper) == native);
  const DeviceBytes memory(16);
  MemsetAsync(memory.data(), 3, 16, wrapper);
  StreamDestroy(wrapper);
  MemsetAsync(memory.data(), 4, 8, owner);
  StreamSynchronize(owner);
  CHECK_EQ(int{memory.ToHost()[7]}, 4);
  CHECK_EQ(int{memory.ToHost()[8]}, 3);
  StreamDestroy(owner);
}

/// Work goes to the device of its stream, memory or event, and the caller's device stays.
void TestSeveralDevices() {
  if (DeviceCount() < 2) return;
  SetDevice(1);
  const Stream stream = StreamCreate();
  const Stream default_stream = DefaultStream();
  const Event event = EventCreate();
  void* const memory = Malloc(64);
  SetDevice(0);
  for (const Stream on : {stream, default_stream}) {
    MemsetAsync(memory, 9, 64, on);
    EventRecord(event, on);
    EventSynchronize(event);
    std::uint8_t value = 0;
    MemcpyAsync(&value, memory, 1, MemcpyKind::kDeviceToHost, on);
    StreamSynchronize(on);
    CHECK_EQ(int{value}, 9);
    FreeAsync(MallocAsync(64, on), on);
    CHECK_EQ(GetDevice(), 0);
  }
  Free(memory);
  EventDestroy(event);
  StreamDestroy(stream);
  CHECK_EQ(GetDevice(), 0);
}

void TestEvents() {
  const Stream a = StreamCreate();
  const Stream b = StreamCreate();
  const Event start = EventCreate();
  const Event end = EventCreate({.timing = true, .blocking = true});
  const Event untimed = EventCreate({.timing = false});
  const DeviceBytes memory(4096);
  EventRecord(start, a);
  MemsetAsync(memory.data(), 1, 4096, a);
  EventRecord(end, a);
  StreamWaitEvent(b, end);
  MemsetAsync(memory.data(), 2, 1, b);
  EventRecord(untimed, b);
  EventSynchronize(untimed);
  CHECK(EventQuery(untimed));
  CHECK(EventElapsedTime(start, end) >= 0);
  CHECK_EQ(int{memory.ToHost()[0]}, 2);
  CHECK_EQ(int{memory.ToHost()[1]}, 1);
  CHECK_THROWS(EventElapsedTime(start, untimed), ErrorCode::kInvalidArgument, "without timing");
  const EventOptions interprocess{.timing = false, .interprocess = true};
  if (HasCapability(Capability::kIpcEvent)) {
    EventDestroy(EventCreate(interprocess));
  } else {
    CHECK_THROWS(EventCreate(interprocess), ErrorCode::kNotSupported, "ipc_event");
  }
  for (const Event event : {start, end, untimed}) EventDestroy(event);
  for (const Stream stream : {a, b}) StreamDestroy(stream);
}

struct AppendArguments {
  std::vector<int>* list;
  int value;
};

void Append(const void* arguments) {
  const auto& [list, value] = *static_cast<const AppendArguments*>(arguments);
  list->push_back(value);
}

void Throw(const void* arguments) { throw TaskFailure(static_cast<const char*>(arguments)); }

template <std::size_t kSize>
void LaunchThrow(Stream stream, const char (&text)[kSize]) {
  LaunchHost(stream, Throw, text, kSize);
}

void TestHostTasks() {
  const Stream stream = StreamCreate();
  std::vector<int> list;
  for (int i = 0; i < 100; ++i) {
    const AppendArguments arguments{&list, i};  // gone before the task has to have run
    LaunchHost(stream, Append, &arguments, sizeof arguments);
  }
  StreamSynchronize(stream);
  CHECK_EQ(list.size(), std::size_t{100});
  for (int i = 0; i < 100; ++i) CHECK_EQ(list[static_cast<std::size_t>(i)], i);

  // The first exception is raised at the next synchronisation of the stream, once.
  LaunchThrow(stream, "first");
  LaunchThrow(stream, "second");
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "first");
  CHECK_EQ(FailureOf([&] { StreamSynchronize(stream); }), "");
  LaunchThrow(stream, "third");
  CHECK_EQ(FailureOf([&] { DeviceSynchronize(); }), "third");
  CHECK_EQ(FailureOf([&] { DeviceSynchronize(); }), "");
  LaunchThrow(DefaultStream(), "fourth");
  CHECK_EQ(FailureOf([&] { Memset(DeviceBytes(8).data(), 0, 8); }), "fourth");

  // A host task must not call the runtime.
  LaunchHost(stream, [](const void*) { static_cast<void>(Malloc(8)); }, nullptr, 0);
  CHECK_THROWS(StreamSynchronize(stream), ErrorCode::kInvalidState, "host task");

  // A stream's work is done before the stream is gone; what it throws then is
  // raised by the device.
  list.clear();
  const AppendArguments last{&list, 7};
  LaunchHost(stream, Append, &last, sizeof last);
  LaunchThrow(stream, "late");
  StreamDestroy(stream);
  CHECK(list == std::vector<int>{7});
  CHECK_EQ(FailureOf([&] { DeviceSynchronize(); }), "late");
  CHECK_EQ(FailureOf([&] { DeviceSynchronize(); }), "");
}

void TestThreads(Device::Type type) {
  std::atomic<int> wrong{0};
  const auto work = [&wrong, type](int device, std::uint8_t value) {
    SelectBackend(type);
    SetDevice(device);
    const Stream stream = StreamCreate();
    const DeviceBytes memory(512);
    for (int i = 0; i < 200; ++i) {
      MemsetAsync(memory.data(), value + i % 16, 512, stream);
      StreamSynchronize(stream);
      if (memory.ToHost() !=
          std::vector<std::uint8_t>(512, static_cast<std::uint8_t>(value + i % 16))) {
        ++wrong;
      }
      if (GetDevice() != device) ++wrong;
    }
    StreamDestroy(stream);
  };
  std::thread first(work, 0, std::uint8_t{10});
  std::thread second(work, DeviceCount() - 1, std::uint8_t{100});
  first.join();
  second.join();
  CHECK_EQ(wrong.load(), 0);
}

int Run(bool expects_no_device) {
  const Device::Type type = CudaLikeBackend();
  SelectBackend(type);
  if (expects_no_device || DeviceCount() == 0) {
    TestWithoutDevice(type);
    return Finish() != 0 ? 1 : expects_no_device ? 0 : kSkipped;
  }
  TestDevices(type);
  TestCopies();
  TestAllocation();
  TestStreams();
  TestSeveralDevices();
  TestEvents();
  TestHostTasks();
  TestThreads(type);
  return Finish();
}

}  // namespace
}  // namespace infini::rt::testing

int main(int argc, char** argv) {
  return infini::rt::testing::Run(argc == 2 && std::string_view(argv[1]) == "--no-device");
}
