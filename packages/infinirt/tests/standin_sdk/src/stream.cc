// Streams and host functions.
#include "state.h"

namespace standin {
namespace {

bool IsStream(const State& state, SDK(Stream_t) stream) {
  return stream == nullptr || state.streams.contains(stream);
}

/// For a function that waits for or asks about `stream`.
Status CheckWait(State& state, SDK(Stream_t) stream) {
  if (const Status status = CheckImmediate(state, stream); status != kSuccess) return status;
  return CheckMayWait(state);
}

}  // namespace

int DeviceOf(SDK(Stream_t) stream) {
  return stream == nullptr ? GetThreadState().device : stream->device;
}

Outcome Submit(State& state, SDK(Stream_t) stream, Work work) {
  if (!IsStream(state, stream)) return kInvalidHandle;
  if (stream == nullptr || stream->capture == nullptr) return work;
  if (!stream->capture->is_valid) return SDK(ErrorStreamCaptureInvalidated);
  stream->capture->work.push_back(std::move(work));
  return kSuccess;
}

Status CheckImmediate(State& state, SDK(Stream_t) stream) {
  if (!IsStream(state, stream)) return kInvalidHandle;
  if (stream == nullptr || stream->capture == nullptr) return kSuccess;
  stream->capture->is_valid = false;
  return kCaptureUnsupported;
}

}  // namespace standin

using namespace standin;  // NOLINT(google-build-using-namespace): the functions
                          // below are the namespace's C face

Status SDK(StreamCreateWithPriority)(SDK(Stream_t) * stream, unsigned flags, int /*priority*/) {
  return Call(SDK_NAME(StreamCreateWithPriority), [&](State& state) -> Outcome {
    if (stream == nullptr || (flags & ~static_cast<unsigned>(SDK(StreamNonBlocking))) != 0)
      return kInvalidValue;
    *stream = new SDK(Stream_st){GetThreadState().device, flags, nullptr};
    state.streams.insert(*stream);
    return kSuccess;
  });
}

Status SDK(StreamDestroy)(SDK(Stream_t) stream) {
  return CallDestroy(SDK_NAME(StreamDestroy), [&](State& state) -> Outcome {
    if (state.streams.erase(stream) == 0) return kInvalidHandle;
    delete stream;
    return kSuccess;
  });
}

Status SDK(StreamGetFlags)(SDK(Stream_t) stream, unsigned* flags) {
  return Call(SDK_NAME(StreamGetFlags), [&](State& state) -> Outcome {
    if (flags == nullptr) return kInvalidValue;
    if (!IsStream(state, stream)) return kInvalidHandle;
    *flags = stream == nullptr ? SDK(StreamDefault) : stream->flags;
    return kSuccess;
  });
}

Status SDK(StreamQuery)(SDK(Stream_t) stream) {
  return Call(SDK_NAME(StreamQuery), [&](State& state) { return CheckWait(state, stream); });
}

Status SDK(StreamSynchronize)(SDK(Stream_t) stream) {
  return Call(SDK_NAME(StreamSynchronize), [&](State& state) { return CheckWait(state, stream); });
}

Status SDK(StreamWaitEvent)(SDK(Stream_t) stream, SDK(Event_t) event, unsigned flags) {
  return Call(SDK_NAME(StreamWaitEvent), [&](State& state) -> Outcome {
    if (flags != 0) return kInvalidValue;
    if (!state.events.contains(event)) return kInvalidHandle;
    return CheckImmediate(state, stream);
  });
}

Status SDK(LaunchHostFunc)(SDK(Stream_t) stream, SDK(HostFn_t) function, void* payload) {
  return Call(SDK_NAME(LaunchHostFunc), [&](State& state) -> Outcome {
    if (function == nullptr) return kInvalidValue;
    return Submit(state, stream, [function, payload] {
      function(payload);
      return kSuccess;
    });
  });
}
