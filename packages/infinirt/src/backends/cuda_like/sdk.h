// The names of a CUDA-like SDK, generated from its prefix ("cuda", "mc", "musa").
//
// A vendor describes its SDK by a struct, after including the SDK's own header:
//
//   struct MetaxSdk {
//     INFINI_RT_CUDA_LIKE_SDK(mc)
//     using DeviceProp = mcDeviceProp_t;
//     static constexpr Device::Type kType = Device::Type::kMetax;
//     static constexpr std::uint32_t kLacks = CapabilityBits({});
//     static constexpr bool kKeepsRunningGraphs = false;
//   };
//
// `kLacks` are the capabilities that the SDK does not have: `kAsyncMalloc` (memory pools),
// `kIpcEvent`, or both. What only they need is never instantiated, so the SDK may lack those
// functions altogether. `kKeepsRunningGraphs` tells whether the SDK lets a graph be destroyed while
// a launch of it runs.
#ifndef INFINI_RT_BACKENDS_CUDA_LIKE_SDK_H_
#define INFINI_RT_BACKENDS_CUDA_LIKE_SDK_H_

#include <cstddef>
#include <cstdint>

#include "core/backend.h"

namespace infini::rt::cuda_like {

/// What an SDK of this kind can do unless its description says otherwise.
inline constexpr std::uint32_t kCudaLikeCapabilities = CapabilityBits(
    {Capability::kAsyncMemcpy, Capability::kPinnedHost, Capability::kAsyncMalloc,
     Capability::kEventTiming, Capability::kBlockingEvent, Capability::kIpcEvent,
     Capability::kStreamPriority, Capability::kGraphCapture, Capability::kAsyncStreams});

/// A function of an SDK and its name there, which errors give.
template <typename Callable>
struct SdkFunction {
  const char* name;
  Callable call;
};

template <typename Callable>
SdkFunction(const char*, Callable) -> SdkFunction<Callable>;

}  // namespace infini::rt::cuda_like

// Unused where the SDK lacks the capability that needs the function.
#define INFINI_RT_SDK_FUNCTION(prefix, function)                                      \
  [[maybe_unused]] static constexpr ::infini::rt::cuda_like::SdkFunction k##function{ \
      #prefix #function, [](auto... arguments) { return prefix##function(arguments...); }};

// SDKs made after CUDA 12 instantiate with flags, those made after earlier releases with a place
// for a log.
#define INFINI_RT_SDK_GRAPH_INSTANTIATE(prefix)                                          \
  static constexpr ::infini::rt::cuda_like::SdkFunction kGraphInstantiate{               \
      #prefix "GraphInstantiate", [](auto* exec, auto graph) {                           \
        if constexpr (requires { prefix##GraphInstantiate(exec, graph, 0ULL); }) {       \
          return prefix##GraphInstantiate(exec, graph, 0ULL);                            \
        } else {                                                                         \
          return prefix##GraphInstantiate(exec, graph, nullptr, nullptr, std::size_t{}); \
        }                                                                                \
      }};

/// Declares the members of an SDK's description that follow from its prefix.
#define INFINI_RT_CUDA_LIKE_SDK(prefix)                                                           \
  using Status = prefix##Error_t;                                                                 \
  using NativeStream = prefix##Stream_t;                                                          \
  using NativeEvent = prefix##Event_t;                                                            \
  using NativeGraph = prefix##Graph_t;                                                            \
  using NativeGraphExec = prefix##GraphExec_t;                                                    \
  using CopyKind = decltype(prefix##MemcpyHostToHost);                                            \
  static constexpr Status kSuccess = prefix##Success;                                             \
  static constexpr Status kOutOfMemory = prefix##ErrorMemoryAllocation;                           \
  static constexpr Status kNotSupported = prefix##ErrorNotSupported;                              \
  static constexpr Status kNotReady = prefix##ErrorNotReady;                                      \
  /* In the order of `MemcpyKind`. */                                                             \
  static constexpr CopyKind kCopyKinds[] = {prefix##MemcpyHostToHost, prefix##MemcpyHostToDevice, \
                                            prefix##MemcpyDeviceToHost,                           \
                                            prefix##MemcpyDeviceToDevice};                        \
  static constexpr unsigned kStreamNonBlocking = prefix##StreamNonBlocking;                       \
  static constexpr unsigned kEventDefault = prefix##EventDefault;                                 \
  static constexpr unsigned kEventBlocking = prefix##EventBlockingSync;                           \
  static constexpr unsigned kEventNoTiming = prefix##EventDisableTiming;                          \
  static constexpr unsigned kEventInterprocess = prefix##EventInterprocess;                       \
  using CaptureMode = decltype(prefix##StreamCaptureModeThreadLocal);                             \
  static constexpr CaptureMode kCaptureThreadLocal = prefix##StreamCaptureModeThreadLocal;        \
  static constexpr CaptureMode kCaptureRelaxed = prefix##StreamCaptureModeRelaxed;                \
  INFINI_RT_SDK_FUNCTION(prefix, GetErrorName)                                                    \
  INFINI_RT_SDK_FUNCTION(prefix, GetErrorString)                                                  \
  INFINI_RT_SDK_FUNCTION(prefix, GetLastError)                                                    \
  INFINI_RT_SDK_FUNCTION(prefix, GetDeviceCount)                                                  \
  INFINI_RT_SDK_FUNCTION(prefix, GetDevice)                                                       \
  INFINI_RT_SDK_FUNCTION(prefix, SetDevice)                                                       \
  INFINI_RT_SDK_FUNCTION(prefix, GetDeviceProperties)                                             \
  INFINI_RT_SDK_FUNCTION(prefix, DeviceSynchronize)                                               \
  INFINI_RT_SDK_FUNCTION(prefix, DeviceGetStreamPriorityRange)                                    \
  INFINI_RT_SDK_FUNCTION(prefix, MemGetInfo)                                                      \
  INFINI_RT_SDK_FUNCTION(prefix, Malloc)                                                          \
  INFINI_RT_SDK_FUNCTION(prefix, Free)                                                            \
  INFINI_RT_SDK_FUNCTION(prefix, MallocAsync)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, FreeAsync)                                                       \
  INFINI_RT_SDK_FUNCTION(prefix, MallocHost)                                                      \
  INFINI_RT_SDK_FUNCTION(prefix, FreeHost)                                                        \
  INFINI_RT_SDK_FUNCTION(prefix, MemcpyAsync)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, MemsetAsync)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, StreamCreateWithPriority)                                        \
  INFINI_RT_SDK_FUNCTION(prefix, StreamDestroy)                                                   \
  INFINI_RT_SDK_FUNCTION(prefix, StreamGetFlags)                                                  \
  INFINI_RT_SDK_FUNCTION(prefix, StreamQuery)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, StreamSynchronize)                                               \
  INFINI_RT_SDK_FUNCTION(prefix, StreamWaitEvent)                                                 \
  INFINI_RT_SDK_FUNCTION(prefix, StreamBeginCapture)                                              \
  INFINI_RT_SDK_FUNCTION(prefix, StreamEndCapture)                                                \
  INFINI_RT_SDK_FUNCTION(prefix, ThreadExchangeStreamCaptureMode)                                 \
  INFINI_RT_SDK_FUNCTION(prefix, EventCreateWithFlags)                                            \
  INFINI_RT_SDK_FUNCTION(prefix, EventDestroy)                                                    \
  INFINI_RT_SDK_FUNCTION(prefix, EventRecord)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, EventQuery)                                                      \
  INFINI_RT_SDK_FUNCTION(prefix, EventSynchronize)                                                \
  INFINI_RT_SDK_FUNCTION(prefix, EventElapsedTime)                                                \
  INFINI_RT_SDK_FUNCTION(prefix, LaunchHostFunc)                                                  \
  INFINI_RT_SDK_FUNCTION(prefix, GraphGetNodes)                                                   \
  INFINI_RT_SDK_FUNCTION(prefix, GraphLaunch)                                                     \
  INFINI_RT_SDK_FUNCTION(prefix, GraphDestroy)                                                    \
  INFINI_RT_SDK_FUNCTION(prefix, GraphExecDestroy)                                                \
  INFINI_RT_SDK_GRAPH_INSTANTIATE(prefix)

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_SDK_H_
