// The calling thread's current streams, one for each device.
#ifndef INFINI_RT_CORE_CURRENT_STREAM_H_
#define INFINI_RT_CORE_CURRENT_STREAM_H_

#include "core/backend.h"
#include "infini/rt/runtime.h"

namespace infini::rt {

/// Returns the calling thread's current stream on device `device`: the default stream until another
/// was set, and again when the thread's state is gone at its end.
Stream GetCurrentStream(const Backend& backend, int device);

/// Makes `stream`, which lives on device `device`, the current one there.
void PutCurrentStream(const Backend& backend, int device, Stream stream);

/// Goes back to the default stream where the calling thread's current stream is `stream`.
void LeaveStream(const Backend& backend, int device, Stream stream) noexcept;

/// Makes `stream` current again at the end of a scope; the default stream if it is gone.
void RestoreCurrentStream(const Backend& backend, int device, Stream stream) noexcept;

/// Forgets the calling thread's current streams, at its end.
void ForgetCurrentStreams() noexcept;

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_CURRENT_STREAM_H_
