// What the runtime keeps for each stream, and how a `Stream` is resolved.
#ifndef INFINI_RT_CORE_STREAM_RECORD_H_
#define INFINI_RT_CORE_STREAM_RECORD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/backend.h"
#include "core/handle_table.h"
#include "core/host_graph.h"
#include "core/thread_state.h"

namespace infini::rt {

/// A recording in progress. Only the thread that began it touches it.
struct Capture {
  HostGraph tasks;        // of a host-task backend
  std::string spoilt_by;  // the call that could not be captured; empty while the recording is sound
};

/// A created (not default) stream.
struct StreamRecord {
  const Backend* backend;
  int device;
  void* native;
  std::atomic<std::uint64_t> capture_owner{
      0};  // token of the capturing thread; 0 when nobody captures
  std::unique_ptr<Capture> capture;
};

HandleTable<StreamRecord>& StreamTable();

/// A stream looked up for one call; keeps it from being destroyed meanwhile.
struct StreamUse {
  void* native = nullptr;
  int device = 0;
  HandleTable<StreamRecord>::Use record;  // empty for a default stream
};

/// Looks `stream` up. Throws `Error` when it was destroyed or belongs to another backend.
StreamUse ResolveStream(Function function, const Backend& backend, Stream stream);

/// Returns the handle of the default stream of device `device`.
Stream DefaultStreamHandle(const Backend& backend, int device);

/// Returns whether `stream` names a default stream.
bool IsDefaultStream(Stream stream);

/// For a call that queues work on `stream`: returns the capture to record into, or null to run.
/// Throws `Error` when another thread is capturing the stream.
Capture* CaptureOf(Function function, const Backend& backend, const StreamUse& stream);

/// The rare part of `RefuseDuringCapture`.
void RefuseDuringCaptureSlow(Function function, const Backend& backend);

/// Throws `Error` and spoils the recordings when the calling thread is capturing: `function` cannot
/// be captured.
inline void RefuseDuringCapture(Function function, const Backend& backend) {
  if (thread_state.captures != 0) RefuseDuringCaptureSlow(function, backend);
}

/// Throws `Error` and spoils the recording when `stream` is being captured: `function` cannot be
/// captured.
void RefuseOnCapturedStream(Function function, const Backend& backend, const StreamUse& stream);

/// Discards what the calling thread is capturing; at its end, when nobody can end the captures.
void DiscardCapturesOfThread() noexcept;

/// Takes the stored error of a host task on `native` and raises it.
void RaiseStreamError(const Backend& backend, void* native);

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_STREAM_RECORD_H_
