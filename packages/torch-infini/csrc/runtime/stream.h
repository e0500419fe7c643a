// Streams: the default one of each device, and a pool of 32 for each priority.
//
// A `c10::StreamId` is an index into the device's table: 0 is the default
// stream, 1..32 are of normal and 33..64 of high priority. Streams are made on
// first use and live as long as the process, as in torch.cuda.
#ifndef TORCH_INFINI_RUNTIME_STREAM_H_
#define TORCH_INFINI_RUNTIME_STREAM_H_

#include <c10/core/Stream.h>
#include <infini/rt/runtime.h>

#include "runtime/device.h"

namespace torch_infini {

inline constexpr int kStreamsPerPriority = 32;

/// Stream `id` of `device`.
inline c10::Stream StreamOf(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, id);
}

/// The default stream of `device`.
inline c10::Stream DefaultStream(c10::DeviceIndex device) {
  return c10::Stream(c10::Stream::DEFAULT, {kDeviceType, device});
}

/// The calling thread's current stream on `device`.
inline c10::Stream CurrentStream(c10::DeviceIndex device) {
  return StreamOf(device, thread_state.stream_ids[static_cast<std::size_t>(device)]);
}

/// Makes `stream` current on its device and returns the stream that was. The
/// current device does not change.
c10::Stream ExchangeStream(c10::Stream stream);

/// Takes the next stream of the pool; a negative `priority` asks for a high
/// one. Priorities beyond the backend's range are cut to it.
c10::Stream StreamFromPool(c10::DeviceIndex device, int priority);

/// The priority that the backend gave `stream`.
int StreamPriority(c10::Stream stream);

/// InfiniRT's handle of `stream`; throws when torch-infini did not make it.
infini::rt::Stream RuntimeStream(c10::Stream stream);

/// InfiniRT's handle of the calling thread's current stream on `device`.
inline infini::rt::Stream CurrentRuntimeStream(c10::DeviceIndex device) {
  return RuntimeStream(CurrentStream(device));
}

/// Whether all work queued on `stream` is done.
bool QueryStream(c10::Stream stream);

/// Waits for the work queued on `stream` without holding any lock.
void SynchronizeStream(c10::Stream stream);

/// The backend's own handle (`cudaStream_t`, ...); throws where it has none.
void* NativeStreamHandle(c10::Stream stream);

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_STREAM_H_
