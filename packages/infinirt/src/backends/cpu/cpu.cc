// The CPU as a device: memory is host memory, and a stream runs what it is given at once.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/backend.h"
#include "core/host_properties.h"

namespace infini::rt {
namespace {

constexpr std::size_t kAlignment = 64;

// Streams hold nothing; one object stands for all of them.
char only_stream = 0;

struct CpuEvent {
  std::atomic<std::int64_t> nanoseconds{0};
};

void* Allocate(int, std::size_t bytes) {
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

float ElapsedMilliseconds(void* start, void* end) {
  const auto at = [](void* event) { return static_cast<CpuEvent*>(event)->nanoseconds.load(); };
  return static_cast<float>(static_cast<double>(at(end) - at(start)) * 1e-6);
}

void RecordNow(void* event, void*) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  static_cast<CpuEvent*>(event)->nanoseconds.store(std::chrono::nanoseconds(now).count());
}

constexpr Backend MakeCpuBackend() {
  Backend backend{};
  backend.type = Device::Type::kCpu;
  backend.capabilities = CapabilityBits({Capability::kPinnedHost, Capability::kEventTiming,
                                         Capability::kGraphCapture, Capability::kHostAccess});
  backend.survives_fork = true;
  backend.device_count = [] { return 1; };
  backend.device_properties = [](int) { return GetHostProperties(); };
  backend.memory_info = [](int) { return GetHostMemoryInfo(); };
  backend.device_synchronize = [](int) {};
  backend.malloc = Allocate;
  backend.free = [](int, void* data) { std::free(data); };
  backend.task_range = [](Function, const void* data, std::size_t, bool) {
    return HostRange{const_cast<void*>(data), false};
  };
  backend.memcpy = [](void* target, const void* source, std::size_t bytes, MemcpyKind) {
    std::memmove(target, source, bytes);
  };
  backend.memset = [](void* data, int value, std::size_t bytes) {
    std::memset(data, value, bytes);
  };
  backend.default_stream = [](int) -> void* { return &only_stream; };
  backend.stream_create = [](int, int) -> void* { return &only_stream; };
  backend.stream_destroy = [](void*) {};
  backend.stream_query = [](void*) { return true; };
  backend.stream_synchronize = [](void*) {};
  backend.event_create = [](int, EventOptions) -> void* { return new CpuEvent; };
  backend.event_destroy = [](void* event) { delete static_cast<CpuEvent*>(event); };
  backend.event_record = RecordNow;
  backend.event_query = [](void*) { return true; };
  backend.event_synchronize = [](void*) {};
  backend.stream_wait_event = [](void*, void*) {};
  backend.event_elapsed_time = ElapsedMilliseconds;
  backend.enqueue = [](void*, HostFunction function, const void* arguments, std::size_t) {
    function(arguments);
  };
  backend.enqueue_graph = [](void*, std::shared_ptr<const HostGraph> graph) { graph->Run(); };
  return backend;
}

}  // namespace

extern const Backend kCpuBackend;
constexpr Backend kCpuBackend = MakeCpuBackend();

}  // namespace infini::rt
