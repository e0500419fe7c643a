// The backend of a CUDA-like SDK: `CudaLikeBackend<Sdk>::Make()` gives its table. See sdk.h for
// `Sdk`.
//
// Streams are non-blocking, so that they overlap with the default stream, which is the SDK's legacy
// default stream. Synchronous copies and fills are therefore the asynchronous ones followed by a
// wait: the SDK's own may return before the device has seen the data, and other streams do not wait
// for them.
#ifndef INFINI_RT_BACKENDS_CUDA_LIKE_BACKEND_H_
#define INFINI_RT_BACKENDS_CUDA_LIKE_BACKEND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <utility>

#include "backends/cuda_like/host_task.h"
#include "backends/cuda_like/objects.h"
#include "backends/cuda_like/sdk.h"
#include "backends/cuda_like/sdk_calls.h"
#include "core/backend.h"
#include "core/function.h"

namespace infini::rt::cuda_like {

template <typename Sdk>
class CudaLikeBackend {
  using Calls = SdkCalls<Sdk>;
  using SdkStream = Stream<Sdk>;
  using SdkEvent = Event<Sdk>;
  using SdkGraph = Graph<Sdk>;
  using SdkGraphExec = GraphExec<Sdk>;

 public:
  static constexpr Backend Make() {
    Backend backend{};
    backend.type = Sdk::kType;
    backend.capabilities = kCapabilities;
    backend.survives_fork = false;
    backend.device_count = DeviceCount;
    backend.get_device = GetDevice;
    backend.set_device = SetDevice;
    backend.device_properties = GetProperties;
    backend.memory_info = GetMemoryInfo;
    backend.device_synchronize = DeviceSynchronize;
    backend.malloc = Malloc;
    backend.free = Free;
    if constexpr ((kCapabilities & CapabilityBits({Capability::kAsyncMalloc})) != 0) {
      backend.malloc_async = MallocAsync;
      backend.free_async = FreeAsync;
    }
    backend.malloc_host = MallocHost;
    backend.free_host = FreeHost;
    backend.memcpy = Memcpy;
    backend.memcpy_async = MemcpyAsync;
    backend.memset = Memset;
    backend.memset_async = MemsetAsync;
    backend.default_stream = DefaultStream;
    backend.stream_priority_range = GetStreamPriorityRange;
    backend.stream_create = StreamCreate;
    backend.stream_destroy = StreamDestroy;
    backend.stream_query = StreamQuery;
    backend.stream_synchronize = StreamSynchronize;
    backend.take_error = TakeError;
    backend.stream_native_handle = StreamNativeHandle;
    backend.stream_from_native = StreamFromNative;
    backend.event_create = EventCreate;
    backend.event_destroy = Destroy<SdkEvent>;
    backend.event_record = EventRecord;
    backend.event_query = EventQuery;
    backend.event_synchronize = EventSynchronize;
    backend.stream_wait_event = StreamWaitEvent;
    backend.event_elapsed_time = EventElapsedTime;
    backend.launch_host = LaunchHost;
    backend.begin_capture = BeginCapture;
    backend.end_capture = EndCapture;
    backend.graph_instantiate = GraphInstantiate;
    backend.graph_launch = GraphLaunch;
    backend.graph_task_count = GraphTaskCount;
    backend.graph_destroy = Destroy<SdkGraph>;
    backend.graph_exec_destroy = Destroy<SdkGraphExec>;
    return backend;
  }

 private:
  static constexpr std::uint32_t kCapabilities = kCudaLikeCapabilities & ~Sdk::kLacks;

  static SdkStream& AsStream(void* stream) { return *static_cast<SdkStream*>(stream); }
  static SdkEvent& AsEvent(void* event) { return *static_cast<SdkEvent*>(event); }

  template <typename Object>
  static void Destroy(void* object) {
    delete static_cast<Object*>(object);
  }

  /// Calls an SDK function that queues work on `stream`. The stream's device is current meanwhile:
  /// the default streams of all devices are one native value.
  template <typename Callable, typename... Arguments>
  static void CheckOnDeviceOf(const SdkStream& stream, Function function,
                              const SdkFunction<Callable>& sdk_function, Arguments... arguments) {
    Calls::OnDevice(function, stream.index(),
                    [&] { Calls::Check({function, stream.index()}, sdk_function, arguments...); });
  }

  // --- Devices ---

  static int DeviceCount() {
    // A process keeps its devices. Remembering them also answers in a forked child, where the SDK
    // no longer can.
    static std::atomic<int> known{0};
    int count = known.load(std::memory_order_relaxed);
    if (count > 0) return count;
    if (!Calls::Try(Sdk::kGetDeviceCount, &count) || count < 0) return 0;
    known.store(count, std::memory_order_relaxed);
    return count;
  }

  static int GetDevice() {
    if (DeviceCount() == 0) return 0;  // what a new thread has; using it fails for want of a device
    int index = 0;
    Calls::Check({Function::kGetDevice}, Sdk::kGetDevice, &index);
    return index;
  }

  static void SetDevice(int index) {
    Calls::Check({Function::kSetDevice, index}, Sdk::kSetDevice, index);
  }

  static DeviceProperties GetProperties(int index) {
    typename Sdk::DeviceProp native{};
    Calls::Check({Function::kGetDeviceProperties, index}, Sdk::kGetDeviceProperties, &native,
                 index);
    DeviceProperties properties;
    properties.name = native.name;
    properties.total_memory = native.totalGlobalMem;
    properties.multiprocessor_count = native.multiProcessorCount;
    properties.capability_major = native.major;
    properties.capability_minor = native.minor;
    return properties;
  }

  static MemoryInfo GetMemoryInfo(int index) {
    constexpr Function kFunction = Function::kGetMemoryInfo;
    return Calls::OnDevice(kFunction, index, [index] {
      MemoryInfo info;
      Calls::Check({kFunction, index}, Sdk::kMemGetInfo, &info.free, &info.total);
      return info;
    });
  }

  static void DeviceSynchronize(int index) {
    constexpr Function kFunction = Function::kDeviceSynchronize;
    Calls::OnDevice(kFunction, index,
                    [index] { Calls::Check({kFunction, index}, Sdk::kDeviceSynchronize); });
  }

  // --- Memory ---

  struct FreeMemory {
    void operator()(void* data) const noexcept { Calls::Try(Sdk::kFree, data); }
  };

  static void* Malloc(int index, std::size_t bytes) {
    return Calls::OnDevice(Function::kMalloc, index,
                           [&] {
                             void* data = nullptr;
                             Calls::Check({Function::kMalloc, index, bytes}, Sdk::kMalloc, &data,
                                          bytes);
                             return std::unique_ptr<void, FreeMemory>(data);
                           })
        .release();
  }

  // The SDK's function waits for the device unless the memory came from `MallocAsync`; the core
  // waits for that.
  static void Free(int index, void* data) {
    Calls::Check({Function::kFree, index}, Sdk::kFree, data);
  }

  static void* MallocAsync(int index, std::size_t bytes, void* stream) {
    return Calls::OnDevice(Function::kMallocAsync, index,
                           [&] {
                             void* data = nullptr;
                             Calls::Check({Function::kMallocAsync, index, bytes}, Sdk::kMallocAsync,
                                          &data, bytes, AsStream(stream).native());
                             return std::unique_ptr<void, FreeMemory>(data);
                           })
        .release();
  }

  static void FreeAsync(int /*index*/, void* data, void* stream) {
    const SdkStream& on = AsStream(stream);
    // Not `OnDevice`: once the memory is gone the call must not fail any more.
    const typename Calls::DeviceScope scope(Function::kFreeAsync, on.index());
    Calls::Check({Function::kFreeAsync, on.index()}, Sdk::kFreeAsync, data, on.native());
  }

  static void* MallocHost(std::size_t bytes) {
    void* data = nullptr;
    Calls::Check({Function::kMallocHost, kCurrentDevice, bytes}, Sdk::kMallocHost, &data, bytes);
    return data;
  }

  static void FreeHost(void* data) { Calls::Check({Function::kFreeHost}, Sdk::kFreeHost, data); }

  // --- Copies and fills ---

  static void Memcpy(void* target, const void* source, std::size_t bytes, MemcpyKind kind) {
    constexpr typename Sdk::NativeStream kDefault{};
    Calls::Check({Function::kMemcpy, kCurrentDevice, bytes}, Sdk::kMemcpyAsync, target, source,
                 bytes, Sdk::kCopyKinds[static_cast<int>(kind)], kDefault);
    Calls::Check({Function::kMemcpy}, Sdk::kStreamSynchronize, kDefault);
  }

  static void MemcpyAsync(void* target, const void* source, std::size_t bytes, MemcpyKind kind,
                          void* stream) {
    CheckOnDeviceOf(AsStream(stream), Function::kMemcpyAsync, Sdk::kMemcpyAsync, target, source,
                    bytes, Sdk::kCopyKinds[static_cast<int>(kind)], AsStream(stream).native());
  }

  static void Memset(void* data, int value, std::size_t bytes) {
    constexpr typename Sdk::NativeStream kDefault{};
    Calls::Check({Function::kMemset, kCurrentDevice, bytes}, Sdk::kMemsetAsync, data, value, bytes,
                 kDefault);
    Calls::Check({Function::kMemset}, Sdk::kStreamSynchronize, kDefault);
  }

  static void MemsetAsync(void* data, int value, std::size_t bytes, void* stream) {
    CheckOnDeviceOf(AsStream(stream), Function::kMemsetAsync, Sdk::kMemsetAsync, data, value, bytes,
                    AsStream(stream).native());
  }

  // --- Streams ---

  static void* DefaultStream(int index) {
    // Used until the process ends; there is a device, so the count is known.
    static std::deque<SdkStream>& streams = *[] {
      auto* const all = new std::deque<SdkStream>;
      for (int i = 0; i < DeviceCount(); ++i) {
        all->emplace_back(i, typename Sdk::NativeStream{});
      }
      return all;
    }();
    return &streams[static_cast<std::size_t>(index)];
  }

  static StreamPriorityRange GetStreamPriorityRange() {
    StreamPriorityRange range;
    Calls::Check({Function::kGetStreamPriorityRange}, Sdk::kDeviceGetStreamPriorityRange,
                 &range.least, &range.greatest);
    return range;
  }

  static void* StreamCreate(int index, int priority) {
    return Calls::OnDevice(Function::kStreamCreate, index,
                           [&] { return SdkStream::Create(index, priority); })
        .release();
  }

  static void StreamDestroy(void* stream) {
    // What its host tasks threw, or still throw, is not lost with the stream.
    AsStream(DefaultStream(AsStream(stream).index())).Watch(AsStream(stream).errors());
    Destroy<SdkStream>(stream);
  }

  static bool StreamQuery(void* stream) {
    const SdkStream& queried = AsStream(stream);
    const RelaxedCapture<Sdk> relaxed;
    return Calls::OnDevice(Function::kStreamQuery, queried.index(), [&queried] {
      return Calls::CheckDone({Function::kStreamQuery, queried.index()}, Sdk::kStreamQuery,
                              queried.native());
    });
  }

  static void StreamSynchronize(void* stream) {
    const RelaxedCapture<Sdk> relaxed;
    CheckOnDeviceOf(AsStream(stream), Function::kStreamSynchronize, Sdk::kStreamSynchronize,
                    AsStream(stream).native());
  }

  static std::exception_ptr TakeError(void* stream) { return AsStream(stream).TakeError(); }

  static void* StreamNativeHandle(void* stream) { return AsStream(stream).native(); }

  static void* StreamFromNative(int index, void* native) {
    const auto foreign = static_cast<typename Sdk::NativeStream>(native);
    unsigned flags = 0;  // asked for only to learn whether this is a stream
    Calls::Check({Function::kStreamFromNativeHandle, index}, Sdk::kStreamGetFlags, foreign, &flags);
    return new SdkStream(index, foreign);
  }

  // --- Events ---

  static void* EventCreate(int index, EventOptions options) {
    unsigned flags = Sdk::kEventDefault;
    if (!options.timing) flags |= Sdk::kEventNoTiming;
    if (options.blocking) flags |= Sdk::kEventBlocking;
    if (options.interprocess) flags |= Sdk::kEventInterprocess;
    return Calls::OnDevice(Function::kEventCreate, index,
                           [&] { return std::make_unique<SdkEvent>(index, flags); })
        .release();
  }

  static void EventRecord(void* event, void* stream) {
    CheckOnDeviceOf(AsStream(stream), Function::kEventRecord, Sdk::kEventRecord,
                    AsEvent(event).native(), AsStream(stream).native());
  }

  static bool EventQuery(void* event) {
    return Calls::CheckDone({Function::kEventQuery, AsEvent(event).index()}, Sdk::kEventQuery,
                            AsEvent(event).native());
  }

  static void EventSynchronize(void* event) {
    Calls::Check({Function::kEventSynchronize, AsEvent(event).index()}, Sdk::kEventSynchronize,
                 AsEvent(event).native());
  }

  static void StreamWaitEvent(void* stream, void* event) {
    CheckOnDeviceOf(AsStream(stream), Function::kStreamWaitEvent, Sdk::kStreamWaitEvent,
                    AsStream(stream).native(), AsEvent(event).native(), 0u);
  }

  static float EventElapsedTime(void* start, void* end) {
    float milliseconds = 0;
    Calls::Check({Function::kEventElapsedTime, AsEvent(start).index()}, Sdk::kEventElapsedTime,
                 &milliseconds, AsEvent(start).native(), AsEvent(end).native());
    return milliseconds;
  }

  // --- Host tasks and graphs ---

  // The stream itself knows whether it is being captured, and its recording owns the tasks.
  static void LaunchHost(void* stream, HostFunction function, const void* arguments,
                         std::size_t size) {
    SdkStream& on = AsStream(stream);
    if (on.recording != nullptr) {
      auto& tasks = on.recording->tasks;
      tasks.push_back(std::make_unique<HostTask>(function, arguments, size, on.recording->errors));
      CheckOnDeviceOf(on, Function::kLaunchHost, Sdk::kLaunchHostFunc, on.native(),
                      &HostTask::RunRecorded, static_cast<void*>(tasks.back().get()));
      return;
    }
    auto task = std::make_unique<HostTask>(function, arguments, size, on.errors());
    Calls::OnDevice(Function::kLaunchHost, on.index(), [&] {
      Calls::Check({Function::kLaunchHost, on.index()}, Sdk::kLaunchHostFunc, on.native(),
                   &HostTask::RunOnce, static_cast<void*>(task.get()));
      task.release();  // queued, or deleted already
    });
  }

  // A capture begins and ends whatever device is current: a failure to change the device back would
  // leave the stream in a state that the caller does not expect.
  static void BeginCapture(void* stream) {
    SdkStream& on = AsStream(stream);
    auto recording = std::make_shared<Recording>();
    Calls::Check({Function::kStreamBeginCapture, on.index()}, Sdk::kStreamBeginCapture, on.native(),
                 Sdk::kCaptureThreadLocal);
    on.recording = std::move(recording);
  }

  static void* EndCapture(void* stream) { return new SdkGraph(AsStream(stream)); }

  static void* GraphInstantiate(void* graph) {
    const SdkGraph& recorded = *static_cast<const SdkGraph*>(graph);
    return Calls::OnDevice(Function::kGraphInstantiate, recorded.index(),
                           [&recorded] { return std::make_unique<SdkGraphExec>(recorded); })
        .release();
  }

  static void GraphLaunch(void* exec, void* stream) {
    Calls::OnDevice(Function::kGraphLaunch, AsStream(stream).index(),
                    [&] { static_cast<SdkGraphExec*>(exec)->Launch(AsStream(stream)); });
  }

  static std::size_t GraphTaskCount(void* graph) {
    const SdkGraph& recorded = *static_cast<const SdkGraph*>(graph);
    std::size_t count = 0;
    Calls::Check({Function::kGraphTaskCount, recorded.index()}, Sdk::kGraphGetNodes,
                 recorded.native(), nullptr, &count);
    return count;
  }
};

}  // namespace infini::rt::cuda_like

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_BACKEND_H_
