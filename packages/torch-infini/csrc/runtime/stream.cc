#include "runtime/stream.h"

#include <c10/util/Exception.h>
#include <infini/rt/guard.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "runtime/error.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

constexpr std::size_t kTableSize = 1 + 2 * kStreamsPerPriority;

struct DeviceStreams {
  std::mutex creation;
  // 0: not made yet. InfiniRT's handles are never 0 except the ambiguous
  // "default stream of the current device", which is not stored.
  std::array<std::atomic<std::uint64_t>, kTableSize> handles{};
  std::array<std::atomic<unsigned>, 2> next{};  // normal, high
};

DeviceStreams& StreamsOf(c10::DeviceIndex device) {
  // Never destroyed: threads may still use streams while statics die.
  static auto* const streams = new std::array<DeviceStreams, kMaxDevices>;
  return (*streams)[static_cast<std::size_t>(device)];
}

bool IsHigh(c10::StreamId id) { return id > kStreamsPerPriority; }

int PriorityOf(bool high) {
  const rt::StreamPriorityRange range = rt::runtime::GetStreamPriorityRange();
  const int normal = std::clamp(0, range.greatest, range.least);
  return high ? std::clamp(normal - 1, range.greatest, range.least) : normal;
}

std::uint64_t MakeStream(DeviceStreams& streams, c10::DeviceIndex device, c10::StreamId id) {
  BoundThread();
  return WithTorchErrors([&] {
    const std::scoped_lock lock(streams.creation);
    auto& handle = streams.handles[static_cast<std::size_t>(id)];
    if (handle.load(std::memory_order_relaxed) == 0) {
      const rt::DeviceGuard guard(RuntimeDevice(device));
      const rt::Stream stream = id == 0 ? rt::runtime::DefaultStream()
                                        : rt::runtime::StreamCreate(PriorityOf(IsHigh(id)));
      handle.store(stream.id, std::memory_order_release);
    }
    return handle.load(std::memory_order_relaxed);
  });
}

}  // namespace

rt::Stream RuntimeStream(c10::Stream stream) {
  const c10::StreamId id = stream.id();
  TORCH_CHECK(
      stream.device_type() == kDeviceType && id >= 0 && static_cast<std::size_t>(id) < kTableSize,
      "expected a stream of an infini device, got ", stream);
  DeviceStreams& streams = StreamsOf(CheckedDevice(stream.device_index()));
  std::uint64_t handle =
      streams.handles[static_cast<std::size_t>(id)].load(std::memory_order_acquire);
  if (handle == 0) [[unlikely]] {
    handle = MakeStream(streams, stream.device_index(), id);
  }
  return {handle};
}

c10::Stream ExchangeStream(c10::Stream stream) {
  ThreadState& state = BoundThread();
  const rt::Stream handle = RuntimeStream(stream);
  const c10::Stream previous = CurrentStream(stream.device_index());
  if (previous != stream) {
    // So that infini.rt and infini.ops see the same current stream.
    WithTorchErrors([&] { rt::runtime::SetCurrentStream(handle); });
    state.stream_ids[static_cast<std::size_t>(stream.device_index())] = stream.id();
  }
  return previous;
}

c10::Stream StreamFromPool(c10::DeviceIndex device, int priority) {
  device = CheckedDevice(device);
  const bool high = priority < 0;
  const unsigned turn =
      StreamsOf(device).next[high ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
  const auto id =
      static_cast<c10::StreamId>(1 + (high ? kStreamsPerPriority : 0) + turn % kStreamsPerPriority);
  const c10::Stream stream = StreamOf(device, id);
  RuntimeStream(stream);
  return stream;
}

int StreamPriority(c10::Stream stream) {
  BoundThread();
  RuntimeStream(stream);
  return WithTorchErrors([&] { return PriorityOf(IsHigh(stream.id())); });
}

bool QueryStream(c10::Stream stream) {
  BoundThread();
  return WithTorchErrors([&] { return rt::runtime::StreamQuery(RuntimeStream(stream)); });
}

void SynchronizeStream(c10::Stream stream) {
  BoundThread();
  WithTorchErrors([&] { rt::runtime::StreamSynchronize(RuntimeStream(stream)); });
}

void* NativeStreamHandle(c10::Stream stream) {
  BoundThread();
  void* const handle =
      WithTorchErrors([&] { return rt::runtime::StreamNativeHandle(RuntimeStream(stream)); });
  TORCH_CHECK_NOT_IMPLEMENTED(handle != nullptr, "the backend ",
                              rt::DeviceTypeName(GetBackend().type),
                              " has no native stream handles");
  return handle;
}

}  // namespace torch_infini
