// A simulated accelerator: several devices whose memory the host cannot touch and whose streams
// really run beside it, so that wrong order, wrong lifetime and missing synchronisation show on a
// machine without a GPU.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "backends/sim/controls.h"
#include "backends/sim/device_memory.h"
#include "backends/sim/stream.h"
#include "core/backend.h"
#include "core/host_properties.h"
#include "core/thread_state.h"
#include "infini/rt/error.h"

namespace infini::rt {

extern const Backend kSimBackend;

namespace sim {
namespace {

/// Creates a stream. Throws `Error` when the system gives no thread for its worker.
std::shared_ptr<SimStream> MakeStream() {
  try {
    return std::make_shared<SimStream>();
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kOutOfMemory, "StreamCreate", "sim",
                std::string("the system gives no thread for the stream's worker: ") + error.what());
  }
}

/// One simulated device.
struct SimDevice {
  SimDevice() : memory(MemoryFromEnvironment()), default_stream(MakeStream()) {}

  DeviceMemory memory;
  std::shared_ptr<SimStream> default_stream;
  std::mutex mutex;
  std::vector<std::shared_ptr<SimStream>> streams;  // created ones, guarded by `mutex`
};

/// A created stream remembers its device; the default stream's is known by its index.
struct SimWorld {
  std::vector<std::unique_ptr<SimDevice>> devices;
  std::mutex pinned_mutex;
  std::map<std::uintptr_t, std::size_t> pinned;  // host memory of `MallocHost`: address -> size
};

// Never destroyed: workers may still run when the process ends.
SimWorld& World() {
  static SimWorld* const world = [] {
    auto fresh = std::make_unique<SimWorld>();
    for (int i = 0; i < DeviceCountFromEnvironment(); ++i)
      fresh->devices.push_back(std::make_unique<SimDevice>());
    return fresh.release();
  }();
  return *world;
}

SimDevice& DeviceAt(int index) { return *World().devices[static_cast<std::size_t>(index)]; }

SimStream& AsStream(void* stream) { return *static_cast<SimStream*>(stream); }

std::shared_ptr<SimEvent>& AsEvent(void* event) {
  return *static_cast<std::shared_ptr<SimEvent>*>(event);
}

SimDevice* FindOwner(const void* data) {
  for (const auto& device : World().devices) {
    if (device->memory.Contains(data)) return device.get();
  }
  return nullptr;
}

bool IsPinned(const void* data, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  SimWorld& world = World();
  const std::scoped_lock lock(world.pinned_mutex);
  auto found = world.pinned.upper_bound(address);
  if (found == world.pinned.begin()) return false;
  --found;
  const std::size_t inside = address - found->first;
  return inside <= found->second && bytes <= found->second - inside;
}

HostRange TranslateRange(Function function, const void* data, std::size_t bytes, bool on_device) {
  const SimDevice* const owner = FindOwner(data);
  if (!on_device) {
    if (owner != nullptr) {
      Fail(ErrorCode::kInvalidArgument, function, kSimBackend,
           "the kind of copy says host memory, but the address is device memory; pass the matching "
           "MemcpyKind");
    }
    return {const_cast<void*>(data), !IsPinned(data, bytes)};
  }
  if (owner == nullptr) {
    Fail(ErrorCode::kInvalidArgument, function, kSimBackend,
         "the address is not device memory of sim; pass memory of Malloc, or the matching "
         "MemcpyKind");
  }
  void* const alias = owner->memory.Alias(data, bytes);
  if (alias == nullptr) {
    Fail(ErrorCode::kInvalidArgument, function, kSimBackend,
         std::to_string(bytes) +
             " bytes at this address are not inside one live allocation: the memory was freed, or "
             "the range passes its end");
  }
  return {alias, false};
}

void WaitForDevice(int index) {
  SimDevice& device = DeviceAt(index);
  std::vector<std::shared_ptr<SimStream>> streams;
  {
    const std::scoped_lock lock(device.mutex);
    streams = device.streams;
  }
  device.default_stream->WaitIdle();
  for (const auto& stream : streams) stream->WaitIdle();
}

void* CreateStream(int index, int) {
  SimDevice& device = DeviceAt(index);
  const std::shared_ptr<SimStream> stream = MakeStream();
  const std::scoped_lock lock(device.mutex);
  device.streams.push_back(stream);
  return stream.get();
}

void DestroyStream(void* stream) {
  // Others may hold the stream for a moment, so its destructor alone would not wait for the work.
  AsStream(stream).WaitIdle();
  for (const auto& device : World().devices) {
    std::shared_ptr<SimStream> found;  // ends after the lock
    const std::scoped_lock lock(device->mutex);
    const auto place =
        std::find_if(device->streams.begin(), device->streams.end(),
                     [stream](const auto& candidate) { return candidate.get() == stream; });
    if (place == device->streams.end()) continue;
    found = std::move(*place);
    device->streams.erase(place);
    if (std::exception_ptr error = found->TakeError()) {
      device->default_stream->KeepError(std::move(error));
    }
  }
}

void FreeOnStream(int index, void* data, void* stream) {
  struct Arguments {
    DeviceMemory* memory;
    void* data;
  };
  const Arguments arguments{&DeviceAt(index).memory, data};
  AsStream(stream).Enqueue(Task(
      [](const void* bytes) {
        const Arguments& on = *static_cast<const Arguments*>(bytes);
        on.memory->Release(on.data);
      },
      &arguments, sizeof arguments));
}

void* AllocateHost(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::unique_ptr<void, void (*)(void*)> data(std::aligned_alloc(kAlignment, rounded), std::free);
  if (data == nullptr) return nullptr;
  SimWorld& world = World();
  const std::scoped_lock lock(world.pinned_mutex);
  world.pinned.emplace(reinterpret_cast<std::uintptr_t>(data.get()), bytes);
  return data.release();
}

void FreeHostMemory(void* data) {
  // Copies that are under way may read or write it.
  for (int i = 0; i < DeviceCountFromEnvironment(); ++i) WaitForDevice(i);
  SimWorld& world = World();
  {
    const std::scoped_lock lock(world.pinned_mutex);
    world.pinned.erase(reinterpret_cast<std::uintptr_t>(data));
  }
  std::free(data);
}

float ElapsedMilliseconds(void* start, void* end) {
  return std::chrono::duration<float, std::milli>(AsEvent(end)->time() - AsEvent(start)->time())
      .count();
}

void EnqueueGraph(void* stream, std::shared_ptr<const HostGraph> graph) {
  const HostGraph* const address = graph.get();
  AsStream(stream).Enqueue(
      Task([](const void* bytes) { (*static_cast<const HostGraph* const*>(bytes))->Run(); },
           &address, sizeof address, std::move(graph)));
}

}  // namespace

constexpr Backend MakeSimBackend() {
  Backend backend{};
  backend.type = Device::Type::kSim;
  backend.capabilities = CapabilityBits({Capability::kAsyncMemcpy, Capability::kPinnedHost,
                                         Capability::kAsyncMalloc, Capability::kEventTiming,
                                         Capability::kGraphCapture, Capability::kAsyncStreams});
  backend.survives_fork = false;
  backend.on_call = OnCall;
  backend.device_count = DeviceCountFromEnvironment;
  backend.device_properties = [](int index) {
    DeviceProperties properties = GetHostProperties();
    properties.name = "Simulated accelerator on " + properties.name;
    properties.total_memory = DeviceAt(index).memory.capacity();
    return properties;
  };
  backend.memory_info = [](int index) {
    const DeviceMemory& memory = DeviceAt(index).memory;
    return MemoryInfo{memory.capacity() - memory.used(), memory.capacity()};
  };
  backend.device_synchronize = WaitForDevice;
  backend.malloc = [](int index, std::size_t bytes) {
    return DeviceAt(index).memory.Allocate(bytes);
  };
  backend.free = [](int index, void* data) {
    WaitForDevice(index);
    DeviceAt(index).memory.Release(data);
  };
  backend.malloc_async = [](int index, std::size_t bytes, void*) {
    return DeviceAt(index).memory.Allocate(bytes);
  };
  backend.free_async = FreeOnStream;
  backend.malloc_host = AllocateHost;
  backend.free_host = FreeHostMemory;
  backend.task_range = TranslateRange;
  backend.default_stream = [](int index) -> void* { return DeviceAt(index).default_stream.get(); };
  backend.stream_create = CreateStream;
  backend.stream_destroy = DestroyStream;
  backend.stream_query = [](void* stream) { return AsStream(stream).IsIdle(); };
  backend.stream_synchronize = [](void* stream) { AsStream(stream).WaitIdle(); };
  backend.take_error = [](void* stream) { return AsStream(stream).TakeError(); };
  backend.event_create = [](int, EventOptions) -> void* {
    return new std::shared_ptr<SimEvent>(std::make_shared<SimEvent>());
  };
  backend.event_destroy = [](void* event) { delete &AsEvent(event); };
  backend.event_record = [](void* event, void* stream) {
    AsEvent(event)->Record(AsStream(stream));
  };
  backend.event_query = [](void* event) { return AsEvent(event)->IsDone(); };
  backend.event_synchronize = [](void* event) { AsEvent(event)->Wait(); };
  backend.stream_wait_event = [](void* stream, void* event) {
    AsEvent(event)->BlockStream(AsStream(stream));
  };
  backend.event_elapsed_time = ElapsedMilliseconds;
  backend.enqueue = [](void* stream, HostFunction function, const void* arguments,
                       std::size_t size) {
    AsStream(stream).Enqueue(Task(function, arguments, size));
  };
  backend.enqueue_graph = EnqueueGraph;
  return backend;
}

}  // namespace sim

constexpr Backend kSimBackend = sim::MakeSimBackend();

}  // namespace infini::rt
